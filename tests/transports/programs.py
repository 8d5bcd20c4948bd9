"""The programs of the suite."""

from __future__ import annotations

SHOP = """\
permission orders.read
permission orders.write includes orders.read
permission world.act

pub record Order {
  id: String
  total: Int
}

error NotFound { id: String, near: List<String> }

/// Do something outside.
tool act(what: String) -> String
  needs world.act
  repeat idempotent
  timeout 60s
  extern "outside:act"

/// Do something outside that must not be done twice.
tool strike(what: String) -> String
  needs world.act
  repeat never
  timeout 60s
  extern "outside:act"

pub service Orders {
  get(id: String) -> Order fails NotFound
    needs orders.read
    repeat idempotent
    timeout 60s

  retried(id: String) -> String
    needs orders.read
    repeat idempotent
    retry(attempts: 3, base: 10ms)
    timeout 60s

  brief(id: String) -> String
    needs orders.read
    repeat idempotent
    timeout 1s

  pay(id: String) -> String
    needs orders.write
    repeat never
    timeout 60s

  pay_briefly(id: String) -> String
    needs orders.write
    repeat never
    timeout 1s

  book(id: String) -> String
    needs orders.write
    repeat reconcile
    timeout 60s
}

provide Orders as real
  grants world.act
{
  fn get(id: String) -> Order fails NotFound {
    if id.starts_with("none") { fail NotFound(id: id, near: ["A-1", "ä\\n"]) }
    if id.starts_with("big") { return Order(id: "x".repeat(60_000) + "y".repeat(10_000), total: 1) }
    Order(id: act(id), total: 3)
  }

  fn retried(id: String) -> String { act(id) }

  fn brief(id: String) -> String { act(id) }

  fn pay(id: String) -> String fails Uncertain { try strike(id) }

  fn pay_briefly(id: String) -> String fails Uncertain { try strike(id) }

  fn book(id: String) -> String fails Uncertain { try strike(id) }
}

node get(id: String) -> Order fails NotFound
  grants orders.read
{
  try Orders.get(id)
}

node caught(id: String) -> String
  grants orders.read
{
  let order = try Orders.get(id) catch {
    NotFound e => Order(id: "not found: ${e.id} ${e.near.join(",")}", total: 0)
    Fault f => Order(id: "${f.kind}: ${f.message}", total: 0)
  }
  order.id
}

node retried(id: String) -> String
  grants orders.read
{
  Orders.retried(id)
}

node brief(id: String) -> String
  grants orders.read
{
  Orders.brief(id)
}

node within(id: String) -> String
  grants orders.read
  budget time 1s
{
  Orders.retried(id)
}

node pay(id: String) -> String fails Uncertain
  grants orders.write
{
  try Orders.pay(id)
}

node pay_briefly(id: String) -> String fails Uncertain
  grants orders.write
{
  try Orders.pay_briefly(id)
}

node book(id: String) -> String fails Uncertain
  grants orders.write
{
  try Orders.book(id)
}

node both(ids: List<String>) -> List<String>
  grants orders.read
{
  parallel id in ids up to 100 {
    Orders.retried(id)
  }
}
"""

VALUES = """\
permission echo.use

pub enum Topic { Refund, Shipping, Other }

pub enum Shape {
  Dot
  Circle(radius: Float)
}

pub record Inner { deep: List<Map<String, Int>> }

pub open record Open { known: Int }

pub record All {
  text: String
  whole: Int
  number: Float
  money: Decimal
  flag: Bool
  bytes: Bytes
  at: Timestamp
  day: Date
  length: Duration
  any: Json
  list: List<Decimal>
  map: Map<String, Inner>
  inner: Inner
  topic: Topic
  shape: Shape
  choice: String | Int
  nothing: String?
  maybe?: Int
  as_is: Bool as "As-Is"
  file: File
}

pub service Echo {
  all(value: All, extra?: Int) -> All needs echo.use repeat idempotent
  text(value: String) -> String needs echo.use repeat idempotent
  whole(value: Int) -> Int needs echo.use repeat idempotent
  money(value: Decimal) -> Decimal needs echo.use repeat idempotent
  bytes(value: Bytes) -> Bytes needs echo.use repeat idempotent
  list(value: List<Shape>) -> List<Shape> needs echo.use repeat idempotent
  map(value: Map<String, Json>) -> Map<String, Json> needs echo.use repeat idempotent
  any(value: Json) -> Json needs echo.use repeat idempotent
  nothing(value: String?) -> String? needs echo.use repeat idempotent
  topic(value: Topic) -> Topic needs echo.use repeat idempotent
  wide(value: Open) -> Open needs echo.use repeat idempotent
  unit(value: Int) -> Unit needs echo.use repeat idempotent
}

provide Echo as same {
  fn all(value: All, extra?: Int) -> All { value }
  fn text(value: String) -> String { value }
  fn whole(value: Int) -> Int { value }
  fn money(value: Decimal) -> Decimal { value }
  fn bytes(value: Bytes) -> Bytes { value }
  fn list(value: List<Shape>) -> List<Shape> { value }
  fn map(value: Map<String, Json>) -> Map<String, Json> { value }
  fn any(value: Json) -> Json { value }
  fn nothing(value: String?) -> String? { value }
  fn topic(value: Topic) -> Topic { value }
  fn wide(value: Open) -> Open { value }
  fn unit(value: Int) -> Unit {
    let seen = value
  }
}
"""
KINDS = {
    "all": "All",
    "text": "String",
    "whole": "Int",
    "money": "Decimal",
    "bytes": "Bytes",
    "list": "List<Shape>",
    "map": "Map<String, Json>",
    "any": "Json",
    "nothing": "String?",
    "topic": "Topic",
    "wide": "Open",
}
ECHO = (
    VALUES
    + "".join(
        f"\nnode {name}(value: {type}) -> {type}\n  grants echo.use\n{{\n  Echo.{name}(value)\n}}\n"
        for name, type in KINDS.items()
    )
    + "\nnode unit(value: Int) -> Unit\n  grants echo.use\n{\n  Echo.unit(value)\n}\n"
)
