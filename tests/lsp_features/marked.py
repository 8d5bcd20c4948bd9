"""Programs with the place of a cursor in them, analysed as the language server does."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from lsprotocol import types as lsp

from ael.editor.analysis import Program, where
from ael.editor.documents import Disk, Overlay
from ael.editor.feature import Asked
from ael.editor.features.completion import offered
from ael.editor.features.items import Item, chosen
from ael.editor.snapshot import File, Snapshot
from ael.source import Span

CURSOR = "‸"
ROOT = Path(__file__).resolve().parents[2]

SHOP = """\
//! A shop. 😀 Characters outside of the first plane come before everything.
use std/text.{shorten}

permission orders.read
/// Give money back.
permission orders.refund includes orders.read
role finance

error NotFound { id: String(max: 64) }
error Closed

enum Topic { Refund(amount: Int), Shipping, Other }

/// An order of a customer.
record Order {
  /// What people call it.
  id: String(max: 64)
  total: Int
  topic: Topic
  note?: String
}

type Money = Decimal(min: 0)
const MOST = 5

store notes: Map<String, Order> needs orders.read

model fast {
  provider anthropic
  name "claude-haiku-4-5"
}

service Orders {
  /// One order.
  get(id: String(max: 64)) -> Order fails NotFound
    needs orders.read
    repeat idempotent
  refund(id: String(max: 64)) -> Bool
    needs orders.refund
    repeat never
}

/// Read one order. Call it first.
tool lookup(id: String(max: 64), deep: Bool = false) -> Order fails NotFound
  needs orders.read
  repeat idempotent
  timeout 5s
{
  fail NotFound(id: id)
}

node ask(question: String(max: 100)) -> String(max: 100)
  model fast
  policy one_call
{
  instructions "Answer."
}
"""
"""What the tables of features are about: one declaration of most kinds. A test puts its own behind it."""


class Place(NamedTuple):
    """A program, a file of it, and where the cursor is."""

    snapshot: Snapshot
    file: File
    offset: int

    def asked(self, capabilities: lsp.ClientCapabilities | None = None) -> Asked:
        """What a feature is asked with."""
        return Asked(self.snapshot, self.file, capabilities or lsp.ClientCapabilities(), {})

    @property
    def position(self) -> lsp.TextDocumentPositionParams:
        """The place as an editor says it."""
        return lsp.TextDocumentPositionParams(lsp.TextDocumentIdentifier(self.file.uri), self.file.lines.position(self.offset))

    def text(self, span: Span) -> str:
        """What stands at a span of the file."""
        return self.file.source.text[span.start : span.end]


def analysed(path: Path) -> Snapshot:
    """The program of a file, from the disk."""
    disk = Disk()
    return Program(where(path.resolve(), Overlay({}, disk, {})), disk, "utf-16").analyse({})


def place(folder: Path, text: str, name: str = "main.ael", others: dict[str, str] | None = None) -> Place:
    """A program in `folder`: `text` as the file `name`, the cursor in it (or in one of the `others`) left out."""
    files = {name: text, **(others or {})}
    at = next(((one, content.index(CURSOR)) for one, content in files.items() if CURSOR in content), (name, 0))
    for one, content in files.items():
        target = folder / one
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content.replace(CURSOR, ""), encoding="utf-8")
    snapshot = analysed(folder / ("main.ael" if "main.ael" in files else name))
    return Place(snapshot, snapshot.files[(folder / at[0]).resolve()], at[1])


def completions(found: Place) -> list[Item]:
    """What is offered at the cursor, in its order."""
    _, word, items = offered(found.snapshot, found.file, found.offset)
    return chosen(items, word)[0]


def labels(found: Place) -> list[str]:
    """The names of what is offered."""
    return [item.label for item in completions(found)]
