"""A served program whose names are hard for other languages, with an agent, defaults, and an operation of each repeat safety."""

from __future__ import annotations

AWKWARD = r'''
permission world.act

/// How it ended: """quoted""", a \ and a */ in the middle.
pub enum Ending { None, name, Done, mro }

/// A tree of anything.
pub type Tree = String | List<Tree>

/// Its fields are words of other languages.
pub record Class {
  /// The first one.
  from: String
  list: List<Class>
  class?: Int
  object: Ending = Ending.Done
  many: List<String> = []
  __proto__: Bool as "__proto__" = false
}

pub record Event { at: Timestamp, until: Duration = 5min, price: Decimal = 1.50, promise: Promise? = null }

pub record Promise { then: Int(min: 0, max: 9) = 3 }

error Gone { id: String, ending: Ending }
error Full { free: Int }

/// Act outside.
tool act(what: String) -> String
  needs world.act
  repeat idempotent
  timeout 60s
  extern "outside:act"

/// Strike outside.
tool strike(what: String) -> String
  needs world.act
  repeat never
  timeout 60s
  extern "outside:act"

pub service Words {
  /// Say it back.
  same(value: Class, key?: String, self: Int = 7, options: Ending = Ending.name) -> Class fails Gone, Full
    needs world.act
    repeat idempotent

  then(value: Tree) -> Tree needs world.act repeat idempotent
  constructor(value: Event) -> Event needs world.act repeat idempotent
  strike(what: String) -> String needs world.act repeat never timeout 60s
}

provide Words as words
  grants world.act
{
  fn same(value: Class, key?: String, self: Int = 7, options: Ending = Ending.name) -> Class fails Gone, Full {
    if value.from == "gone" { fail Gone(id: "${self}", ending: options) }
    if value.from == "full" { fail Full(free: self) }
    value
  }
  fn then(value: Tree) -> Tree { value }
  fn constructor(value: Event) -> Event { value }
  fn strike(what: String) -> String fails Uncertain { try strike(what) }
}

pub node connect(number: Int) -> Int { number }
pub node _client() -> Int { 1 }
pub node get_one() -> Int { 1 }
pub node get__one() -> Int { 2 }

pub node double(number: Int) -> Int { number + number }

/// Ask outside.
pub node ask(what: String) -> String
  grants world.act
{
  act(what)
}

node first(number: Int) -> Int { number + 1 }

/// One after the other.
pub agent chain(number: Int) -> Int {
  edge start -> first(number)
  edge first -> finish
}
'''
