"""What a scripted model answers, as data: turns, and the files that hold them.

A script is a list of turns. In a file it is JSON: a list of turns, or an object

    {"mode": "shared" | "each", "repeat": false, "turns": [...]}
    {"conversations": [{"when": "text in the prompt", "turns": [...]}, ...]}
    {"models": {"fast": <one of the above>, ...}}

or JSON lines, one turn a line. `shared` (the default) is one queue for all conversations; with `each` every conversation starts
at the
first turn; with `conversations` a conversation takes the first list whose `when` occurs in its instructions or first message.
A turn has one of `final`, `text`, `call` (with `with`), `calls`, `stop` or `error`; beside it may stand `text`, `delay`
(seconds),
`usage` (tokens by class), and for an error `retry_after` (seconds) and `message`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from ael.run.ports import ModelErrorKind, ProposedCall, Stop, Usage

T = TypeVar("T")

MAX_SCRIPT_BYTES = 16 * 1024 * 1024
"""A larger script file is refused: it is held in memory whole."""

ERRORS = {
    "unavailable": ModelErrorKind.UNAVAILABLE,
    "bad_request": ModelErrorKind.BAD_REQUEST,
    "not_authorised": ModelErrorKind.NOT_AUTHORISED,
    "not_found": ModelErrorKind.NOT_FOUND,
    "overflow": ModelErrorKind.OVERFLOW,
    "malformed": ModelErrorKind.MALFORMED,
    "incomplete": ModelErrorKind.INCOMPLETE,
}
STOPS = {"cut": Stop.CUT, "refused": Stop.REFUSED, "filtered": Stop.FILTERED, "unknown": Stop.UNKNOWN}
_CLASSES = frozenset({"input", "cache_read", "cache_write", "output", "reasoning"})
_BESIDE = frozenset({"text", "delay", "usage", "message", "retry_after", "with", "id"})
_MAIN = ("final", "call", "calls", "error", "stop", "text")


class ScriptError(ValueError):
    """A script that says nothing a model could answer; the message names the place in the script and what may stand there."""


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A call that the model proposes. `arguments` is the JSON text as it would come over the wire, None when absent; no `id`:
    one is made.
    """

    name: str
    arguments: str | None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class ScriptedTurn:
    """One answer. `final` is JSON text; `stop` None means what the content says; `error` means that no turn comes at all."""

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    final: str | None = None
    stop: Stop | None = None
    error: ModelErrorKind | None = None
    message: str = ""
    retry_after: float | None = None
    delay: float = 0.0
    usage: Usage | None = None


Mode = Literal["shared", "each"]


@dataclass(frozen=True, slots=True)
class Script:
    """Turns and who takes them. `routes` (a text to look for, and its turns) comes before `turns`; each route's turns start
    anew for a conversation.
    """

    turns: tuple[ScriptedTurn, ...]
    mode: Mode = "shared"
    repeat: bool = False
    routes: tuple[tuple[str, tuple[ScriptedTurn, ...]], ...] = ()


def final(value: object, *, delay: float = 0.0, usage: Usage | None = None) -> ScriptedTurn:
    """The model's final result, a JSON value."""
    return ScriptedTurn(final=dump(value), delay=delay, usage=usage)


def text(content: str, *, delay: float = 0.0, usage: Usage | None = None) -> ScriptedTurn:
    """Plain text."""
    return ScriptedTurn(text=content, delay=delay, usage=usage)


def call(name: str, arguments: Mapping[str, object] | str | None = None, *, id: str | None = None) -> ScriptedTurn:
    """One proposed call; arguments given as a string are the raw JSON text, whatever it holds."""
    return ScriptedTurn(calls=(scripted_call(name, arguments, id=id),))


def calls(*proposed: ScriptedCall, text: str = "") -> ScriptedTurn:
    """Several proposed calls in one turn."""
    return ScriptedTurn(text=text, calls=proposed)


def scripted_call(name: str, arguments: Mapping[str, object] | str | None = None, *, id: str | None = None) -> ScriptedCall:
    """A proposed call for `calls`."""
    return ScriptedCall(name, arguments if arguments is None or isinstance(arguments, str) else dump(arguments), id)


def error(kind: ModelErrorKind, message: str = "", *, retry_after: float | None = None, delay: float = 0.0) -> ScriptedTurn:
    """An attempt that fails on the wire."""
    return ScriptedTurn(error=kind, message=message, retry_after=retry_after, delay=delay)


def stop(reason: Stop, content: str = "") -> ScriptedTurn:
    """A turn that ends otherwise than done: cut, refused, filtered."""
    return ScriptedTurn(text=content, stop=reason)


def dump(value: object) -> str:
    """JSON text without blanks; NaN and infinities are refused (`ValueError`)."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def load_script(path: Path, model: str | None = None) -> Script:
    """Read a script file. `model` chooses from a file with `models`. Raises `ScriptError` (also when the file cannot be read)."""
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise ScriptError(f"the script `{path}` cannot be read: {problem.strerror or problem}") from None
    if len(data) > MAX_SCRIPT_BYTES:
        raise ScriptError(f"the script `{path}` is {len(data)} bytes long; at most {MAX_SCRIPT_BYTES} are read")
    try:
        source = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise ScriptError(f"the script `{path}` is not UTF-8 at byte {problem.start}") from None
    if path.suffix == ".jsonl":
        return Script(tuple(_lines(source, str(path))))
    try:
        value = json.loads(source)
    except (ValueError, RecursionError) as problem:
        raise ScriptError(f"the script `{path}` is not JSON: {problem}") from None
    return parse_script(value, str(path), model)


def parse_script(value: object, place: str = "script", model: str | None = None) -> Script:
    """A script from its JSON form. Raises `ScriptError`."""
    if isinstance(value, list):
        return Script(_turns(value, place))
    if not isinstance(value, dict):
        raise ScriptError(f"{place}: expected a list of turns or an object, got {_kind(value)}")
    if "models" in value:
        models = _object(value["models"], f"{place}.models")
        if model is None or model not in models:
            raise ScriptError(
                f"{place}.models: no script for the model `{model or ''}`; there is one for {', '.join(sorted(models)) or 'none'}"
            )
        return parse_script(models[model], f"{place}.models.{model}")
    unknown = sorted(set(value) - {"mode", "repeat", "turns", "conversations"})
    if unknown:
        raise ScriptError(f"{place}: unknown key `{unknown[0]}`; known are `mode`, `repeat`, `turns`, `conversations`, `models`")
    mode = value.get("mode", "shared")
    if mode != "shared" and mode != "each":
        raise ScriptError(f'{place}.mode: expected "shared" or "each"')
    repeat = value.get("repeat", False)
    if not isinstance(repeat, bool):
        raise ScriptError(f"{place}.repeat: expected true or false")
    routes = []
    for index, entry in enumerate(_list(value.get("conversations", []), f"{place}.conversations")):
        at = f"{place}.conversations[{index}]"
        route = _object(entry, at)
        when = route.get("when", "")
        if not isinstance(when, str) or set(route) - {"when", "turns"}:
            raise ScriptError(f"{at}: expected `when` (a text) and `turns`")
        routes.append((when, _turns(route.get("turns"), f"{at}.turns")))
    return Script(_turns(value.get("turns", []), f"{place}.turns"), "each" if mode == "each" else "shared", repeat, tuple(routes))


def parse_turn(value: object, place: str) -> ScriptedTurn:
    """One turn from its JSON form. Raises `ScriptError`."""
    turn = _object(value, place)
    main = next((key for key in _MAIN if key in turn), None)
    if main is None:
        raise ScriptError(f"{place}: a turn needs one of {', '.join(f'`{key}`' for key in _MAIN)}")
    unknown = sorted(set(turn) - _BESIDE - {main})
    if unknown:
        raise ScriptError(f"{place}: `{unknown[0]}` cannot stand beside `{main}`")
    content = turn.get("text", "")
    if not isinstance(content, str):
        raise ScriptError(f"{place}.text: expected a text, got {_kind(content)}")
    proposed: tuple[ScriptedCall, ...] = ()
    if main == "call":
        proposed = (_call(turn, place),)
    elif main == "calls":
        entries = _list(turn["calls"], f"{place}.calls")
        proposed = tuple(_call(_object(entry, f"{place}.calls[{i}]"), f"{place}.calls[{i}]") for i, entry in enumerate(entries))
    return ScriptedTurn(
        text=content,
        calls=proposed,
        final=dump(turn["final"]) if main == "final" else None,
        stop=_choice(STOPS, turn["stop"], f"{place}.stop") if main == "stop" else None,
        error=_choice(ERRORS, turn["error"], f"{place}.error") if main == "error" else None,
        message=str(turn.get("message", "")),
        retry_after=_seconds(turn["retry_after"], f"{place}.retry_after") if "retry_after" in turn else None,
        delay=_seconds(turn.get("delay", 0), f"{place}.delay"),
        usage=_usage(turn["usage"], f"{place}.usage") if "usage" in turn else None,
    )


def _lines(source: str, place: str) -> Iterator[ScriptedTurn]:
    for number, line in enumerate(source.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as problem:
            raise ScriptError(f"{place}:{number}: not JSON: {problem}") from None
        yield parse_turn(value, f"{place}:{number}")


def _turns(value: object, place: str) -> tuple[ScriptedTurn, ...]:
    return tuple(parse_turn(entry, f"{place}[{index}]") for index, entry in enumerate(_list(value, place)))


def _call(entry: Mapping[str, object], place: str) -> ScriptedCall:
    name, given, identity = entry.get("call"), entry.get("with"), entry.get("id")
    if not isinstance(name, str):
        raise ScriptError(f"{place}.call: expected the name of a tool")
    if identity is not None and not isinstance(identity, str):
        raise ScriptError(f"{place}.id: expected a text")
    if "with" not in entry or isinstance(given, str):
        return ScriptedCall(name, given if isinstance(given, str) else None, identity)
    return ScriptedCall(name, dump(given), identity)


def _usage(value: object, place: str) -> Usage:
    given = _object(value, place)
    for key, count in given.items():
        if key not in _CLASSES or not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise ScriptError(f"{place}.{key}: expected a count of tokens for one of {', '.join(sorted(_CLASSES))}")
    counts = {key: count for key, count in given.items() if isinstance(count, int)}
    get = counts.get
    return Usage(get("input", 0), get("cache_read", 0), get("cache_write", 0), get("output", 0), get("reasoning", 0))


def _seconds(value: object, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        raise ScriptError(f"{place}: expected a number of seconds")
    return float(value)


def _choice(table: Mapping[str, T], value: object, place: str) -> T:
    if not isinstance(value, str) or value not in table:
        raise ScriptError(f"{place}: expected one of {', '.join(table)}")
    return table[value]


def _object(value: object, place: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ScriptError(f"{place}: expected an object, got {_kind(value)}")
    return value


def _list(value: object, place: str) -> Sequence[object]:
    if not isinstance(value, list):
        raise ScriptError(f"{place}: expected a list, got {_kind(value)}")
    return value


def _kind(value: object) -> str:
    names = {
        dict: "an object",
        list: "a list",
        str: "a text",
        bool: "true or false",
        int: "a number",
        float: "a number",
        type(None): "nothing",
    }
    return names.get(type(value), "something else")


def as_proposed(entry: ScriptedCall, place: str) -> ProposedCall:
    """The call as a provider would send it, under an id of its own."""
    return ProposedCall(f"call_{place}" if entry.id is None else entry.id, entry.name, entry.arguments)
