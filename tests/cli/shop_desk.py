"""A program whose runs are forked in every way: a model that calls a tool, an approval, a store, a time, an id, a declared error."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.cli.conftest import Ael

MAIN = """\
permission shop.sell
role boss

record Item {
  name: String(max: 20)
  price: Decimal
}

error SoldOut {
  left: Int
}

model clerk {
  provider openai
  name "gpt-5-mini"
}

store sold: Map<String, Item> needs shop.sell

/// Look the price of a thing up.
tool price(name: String(max: 20)) -> Int fails SoldOut
  needs shop.sell
  repeat idempotent
  parallel
  extern "shop_of_forks_tests:price"

/// Charge for a thing. Call this when the customer has said yes.
tool charge(name: String(max: 20), amount: Int) -> String
  needs shop.sell
  repeat never
  approval required by boss when amount > 10
  extern "shop_of_forks_tests:charge"

/// Tell the customer.
tool tell(text: String) -> String
  needs shop.sell
  repeat idempotent
  extern "shop_of_forks_tests:tell"

node sell(name: String(max: 20), at: Int) -> String(max: 80) fails Uncertain
  grants shop.sell
  model clerk
  policy loop(steps: 4, tool_calls: 4)
  tools charge
  budget tokens 50_000, time 60s
{
  instructions "Sell it."
}

node main(name: String(max: 20) = "kettle") -> String fails Uncertain
  grants shop.sell
{
  let day = now()
  let id = new_id()
  let cost = try price(name) catch {
    SoldOut s => return "sold out, ${s.left} left"
  }
  sold.put(name, Item(name: name, price: 1.50))
  let said = try sell(name, cost)
  let known = sold.has(name)
  tell("${said} ${known} ${day.year() > 2000}")
  "${said} ${id.length()}"
}
"""
SHOP = """\
import os
import time

PRICE = {"kettle": 5, "car": 50}


def _note(line):
    with open("shop.txt", "a") as file:
        file.write(line + "\\n")


def price(name):
    _note(f"price {name}")
    while os.path.exists("hold"):
        time.sleep(0.01)
    return PRICE.get(name, 5)


def charge(name, amount):
    _note(f"charge {name} {amount}")
    return f"charged {amount}"


def tell(text):
    _note(f"tell {text}")
    return "told"
"""
TURNS = [{"calls": [{"call": "charge", "with": {"name": "kettle", "amount": 5}}]}, {"final": "sold for 5"}]
FILES: Mapping[str, str] = {
    "main.ael": MAIN,
    "pack.ael": 'pack shop {\n  version "1.0"\n  extern "shop_of_forks_tests"\n}\n',
    "shop_of_forks_tests.py": SHOP,
    "deploy.ael": 'model clerk = scripted("one.json")\nstore sold = sqlite("sold.db")\nrole boss = ["ann", "local"]\n',
    "one.json": json.dumps(TURNS),
}


def sold(ael: Ael, *words: str, files: Mapping[str, str] = FILES) -> str:
    """Run the shop; the id of the run."""
    ael.write(dict(files))
    ended = ael("run", ".", "main", "-q", *words)
    assert ended.code == 0, ended.err
    return str(json.loads(ael("runs", "list", "--format", "json").out)[0]["run"])


def outside(ael: Ael) -> list[str]:
    """What the outside was asked to do, in order."""
    return (ael.folder / "shop.txt").read_text(encoding="utf-8").splitlines()
