"""The line of a deployment that says where its runs are kept: `runs = sqlite("runs.db")`, `postgres(secret("RUNS_DB"))`, `memory`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from ael.project.bind_state import State, argument, construct, value
from ael.project.form import FORMS
from ael.project.literal import Construct
from ael.project.runs import RunsBinding
from ael.project.wrong import Wrong, listing
from ael.syntax import nodes as n

_TIMES = {
    "lease": timedelta(seconds=1),
    "drain": timedelta(0),
    "approval": timedelta(seconds=1),
    "keep": timedelta(0),
    "evidence_keep": timedelta(0),
}
"""Each with the least that makes sense."""
_COUNTS = ("slots", "per_tenant")
_EVIDENCE = ("none", "redacted", "full")
_OPTIONS = (*_TIMES, *_COUNTS, "uncertain", "evidence", "redact")


def runs(state: State, binding: n.Binding) -> None:
    """Where runs are kept, and how they are worked on."""
    found = construct(binding, ("sqlite", "postgres", "memory"))
    place = value(binding)
    options: dict[str, object] = {}
    for word, given in found.named.items():
        with state.told():
            options[word] = _option(word, given, argument(place, word))
    made: dict[str, Any] = {"park_uncertain" if word == "uncertain" else word: given for word, given in options.items()}
    if made.get("redact") and made.get("evidence") != "redacted":
        note = "`full` shows every field, and `none` shows none"
        raise Wrong("AEL0814", "`redact` goes with `evidence: redacted`", place, note)
    made["said"] = True
    match found.name:
        case "sqlite":
            path = _text(found)
            if not path:
                raise Wrong("AEL0814", "`sqlite` takes the path of a file", place, f"it is written {FORMS['runs']}")
            state.runs = RunsBinding("sqlite", path, **made)
        case "postgres":
            secret = found.positional[0] if len(found.positional) == 1 else None
            name = _text(secret) if isinstance(secret, Construct) and secret.name == "secret" else None
            if name is None:
                note = 'write `postgres(secret("NAME"))`, and where it comes from: `secret NAME = env("NAME")`'
                raise Wrong("AEL0815", "the address of a database is a named secret, since it holds a password", place, note)
            state.want(name, place)
            state.runs = RunsBinding("postgres", "", name, **made)
        case _:
            if found.positional:
                raise Wrong("AEL0814", "`memory` takes no path", place)
            state.runs = RunsBinding("memory", "", **made)


def _option(word: str, given: object, place: n.Node) -> object:
    if word in _TIMES:
        if not isinstance(given, timedelta) or given < _TIMES[word]:
            raise Wrong(
                "AEL0814", f"`{word}` is a length of time of at least {_TIMES[word].total_seconds():g} s: `{word}: 30s`", place
            )
        return given.total_seconds()
    if word in _COUNTS:
        if not isinstance(given, int) or isinstance(given, bool) or given < 1:
            raise Wrong("AEL0814", f"`{word}` is a number of at least 1", place)
        return given
    if word == "uncertain":
        if not isinstance(given, Construct) or given.name not in ("park", "end") or given.positional or given.named:
            raise Wrong(
                "AEL0814", "`uncertain` is `park` or `end`", place, "`park`: the run waits for a person, `ael runs settle`"
            )
        return given.name == "park"
    if word == "evidence":
        if not isinstance(given, Construct) or given.name not in _EVIDENCE or given.positional or given.named:
            note = "what is shown of a run's content where it is asked for: nothing, its form, or all but secrets"
            raise Wrong("AEL0814", "`evidence` is `none`, `redacted` or `full`", place, note)
        return given.name
    if word == "redact":
        if not isinstance(given, list | tuple) or not given or not all(isinstance(one, str) and one for one in given):
            note = "with `evidence: redacted`: what these fields and parameters hold is hidden, and the rest is shown"
            raise Wrong("AEL0814", '`redact` is a list of names of fields: `redact: ["email", "iban"]`', place, note)
        return tuple(given)
    raise Wrong("AEL0814", f"`runs` has no `{word}`", place, listing("there is", _OPTIONS))


def _text(found: Construct) -> str | None:
    """The one text that a call takes beside its options."""
    text = found.positional[0] if len(found.positional) == 1 else None
    return text if isinstance(text, str) and text else None
