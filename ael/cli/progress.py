"""A run as it goes, on standard error: streaming text, tool calls, tokens and cost on a terminal, plain lines elsewhere."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from decimal import Decimal
from typing import TextIO

from ael.run import events as e

_DIM, _BOLD, _GREEN, _RED, _YELLOW, _OFF = "\x1b[2m", "\x1b[1m", "\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[0m"

_SCARCE = ("tokens", "cost", "time")
"""Budgets that are worth a warning before they end; steps and tool calls are used up in a regular run."""

_CHATTER = ("info", "notice")
"""What a server logs that is no warning."""

_NOT_ASCII = re.compile(r"[^\x20-\x7e\n]")


class Progress:
    """Prints events. `verbose` False keeps to what a person has to know (approvals, retries, budgets, logs)."""

    def __init__(self, out: TextIO | None = None, *, colour: bool = False, verbose: bool = True) -> None:
        self.out = out if out is not None else sys.stderr
        self.colour = colour
        self.verbose = verbose
        self._streaming = False

    def __call__(self, event: e.Event) -> None:
        """Print one event."""
        match event:
            case e.Text(text=text, final=final):
                if self.colour and not final:
                    self._stream(text)
            case e.Logged(text=text):
                self._line(text, _BOLD)
            case e.BudgetReached(spender=spender, limit=limit, percent=percent) if percent >= 90 and limit in _SCARCE:
                self._line(f"{spender} has used {percent} % of its {limit}", _YELLOW)
            case e.Retried(target=target, wait=wait, reason=reason, attempt=attempt):
                self._line(f"{_short(target)}: attempt {attempt} failed ({reason}); again in {wait:.1f} s", _YELLOW)
            case e.FellBack(model=model, to=to, reason=reason):
                self._line(f"{_short(model)} is unavailable ({reason}); asking {_short(to)}", _YELLOW)
            case e.ApprovalDecided(tool=tool, approved=approved, by=by, path=path):
                asked = path.endswith("/question")
                word = ("answered" if asked else "approved") if approved else ("not answered" if asked else "denied")
                at = path.removesuffix("/approval").removesuffix("/question")
                self._line(f"{_indent(at)}{_short(tool)} {word} by {by}", _GREEN if approved else _RED)
            case e.ServerLogged(tool=tool, level=level, text=text, path=path) if self.verbose or level not in _CHATTER:
                self._line(f"{_indent(path)}the server of {_short(tool)} logs ({level}): {text}", _YELLOW)
            case _ if self.verbose:
                self._detail(event)
            case _:
                pass

    def _detail(self, event: e.Event) -> None:
        match event:
            case e.NodeStarted(node=node, path=path):
                self._line(f"{_indent(path)}{_short(node)}", _BOLD)
            case e.TurnFinished(model=model, usage=usage, cost=cost, seconds=seconds, path=path):
                spent = f"{usage.total} tokens{' (estimated)' if usage.estimated else ''}{_money(cost)}, "
                # What a turn on another machine used is known to its operator.
                told = "" if usage.total == 0 and cost is None else spent
                self._line(f"{_indent(path)}{_short(model)}: {told}{_time(seconds)}", _DIM)
            case e.ToolProgressed(tool=tool, done=done, total=total, text=text, path=path):
                of = "" if total is None else f" of {total:g}"
                self._line(f"{_indent(path)}{_short(tool)}: {done:g}{of}{f' · {text}' if text else ''}", _DIM)
            case e.ToolFinished(tool=tool, ending=ending, seconds=seconds, detail=detail, path=path):
                mark = "ok" if ending == "value" else f"{ending}: {detail}" if detail else ending
                said = f"{_indent(path)}{_short(tool)} {mark}, {_time(seconds)}"
                self._line(said, _GREEN if ending == "value" else _RED)
            case _:
                pass

    def _stream(self, text: str) -> None:
        self.out.write(f"{_DIM}{clean(text)}{_OFF}")
        self.out.flush()
        self._streaming = True

    def _line(self, text: str, code: str) -> None:
        if self._streaming:
            self.out.write("\n")
            self._streaming = False
        text = clean(text)
        print(f"{code}{text}{_OFF}" if self.colour else text, file=self.out, flush=True)


def clean(text: str) -> str:
    """`text` without what could steer a terminal: text from outside is data here too."""
    return "".join(
        c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") else "\N{REPLACEMENT CHARACTER}" for c in text
    )


def json_text(value: object, *, indent: int | None = 2) -> str:
    """JSON to be printed: what does not print, or could steer a terminal, stands as an escape, so it is the same value to a program."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    return _NOT_ASCII.sub(lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], text)


def _indent(path: str) -> str:
    return "  " * path.count("/")


def _short(name: str) -> str:
    return name.partition(".")[2] or name


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def _money(cost: Decimal | None) -> str:
    return "" if cost is None else f", ${cost.normalize():f}" if cost else ", $0"
