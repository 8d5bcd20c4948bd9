"""A BAML project of a given size, for `check`: enums, classes and functions of the kind that AEL's examples have."""

from __future__ import annotations

from pathlib import Path

CLIENT = """client<llm> Bench {
  provider "openai-generic"
  options {
    base_url "http://127.0.0.1:9/v1"
    api_key "none"
    model "json"
  }
}
"""

UNIT = """enum Topic% {
  Refund
  Shipping
  Other
}
class Ticket% {
  customer string
  message string @description("What the customer wrote")
  order_id string?
  topic Topic%
}
class Reply% {
  answer string
  refunded bool
  confidence float
  tickets Ticket%[]
}
function Classify%(ticket: Ticket%) -> Topic% {
  client Bench
  prompt #"
    Sort the ticket into one topic.
    {{ ctx.output_format }}
    {{ _.role("user") }}
    {{ ticket.message }}
  "#
}
function Answer%(ticket: Ticket%, topic: Topic%) -> Reply% {
  client Bench
  prompt #"
    You answer one support ticket about {{ topic }}.
    {{ ctx.output_format }}
    {{ _.role("user") }}
    {{ ticket.customer }}: {{ ticket.message }}
  "#
}
"""
UNITS_A_FILE = 6


def write(folder: Path, lines: int) -> int:
    """Write the project's ``baml_src`` into the folder; the number of lines written, none of them blank."""
    source = folder / "baml_src"
    source.mkdir(parents=True)
    (source / "clients.baml").write_text(CLIENT, encoding="utf-8")
    written = CLIENT.count("\n")
    number = 0
    while written < lines:
        units = [UNIT.replace("%", str(number + part)) for part in range(UNITS_A_FILE)]
        (source / f"part{number}.baml").write_text("".join(units), encoding="utf-8")
        number += UNITS_A_FILE
        written += sum(unit.count("\n") for unit in units)
    return written


def edit(folder: Path) -> None:
    """Change one declaration."""
    path = folder / "baml_src" / "part0.baml"
    path.write_text(path.read_text(encoding="utf-8").replace("customer string\n", "customer string?\n", 1), encoding="utf-8")
