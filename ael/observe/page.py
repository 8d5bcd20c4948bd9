"""The trace of a run as one HTML file: nothing is loaded from elsewhere, and it can be read by keyboard and by screen reader.

All text is data: escaped, with what does not print shown as its number. The page's policy lets only its own style and script run, by their
hash, so markup that came through would do nothing.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape
from pathlib import Path

from ael.journal.durable import RunRow
from ael.observe import prompt
from ael.observe.shown import visible
from ael.observe.turns import CLASSES
from ael.run.ports import Span

_LONGEST = 20_000
"""Characters of one value on the page."""
_WELL = frozenset({"value", ""})
_TOLD_APART = frozenset({*CLASSES, "estimated", "cost"})


def page(row: RunRow, spans: Sequence[Span], started: str) -> str:
    """The whole page. `started` is the time at which the run began, as text."""
    below: dict[int | None, list[Span]] = defaultdict(list)
    for span in spans:
        below[span.parent].append(span)
    root = spans[0]
    places = _places(spans, root)
    style = _part("page.css") + places
    script = _part("page.js")
    policy = (
        f"default-src 'none'; style-src 'sha256-{_hash(style)}'; script-src 'sha256-{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    title = f"{visible(root.name)} · {visible(row.header.run)}"
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escape(title)}</title>",
        f"<style>{style}</style>\n</head>\n<body>\n<header>",
        f"<h1>{_text(root.name)} <small>{_text(row.header.run)}</small></h1>",
        _facts(_summary(row, root, started)),
        '<p class="tools" hidden><button type="button" id="all">Open all</button> <button type="button" id="none">Close all</button> '
        '<button type="button" id="next">Next problem</button></p>',
        '</header>\n<main>\n<h2 id="what">What it did</h2>',
        '<p class="hint">Each line opens: what it was, how long it took, what it cost. Arrow keys move between lines.</p>',
        '<ol class="tree" aria-labelledby="what">',
        *_tree(below, root, root),
        "</ol>\n</main>",
        f"<script>{script}</script>\n</body>\n</html>\n",
    ]
    return "\n".join(parts)


def _part(name: str) -> str:
    """The style, and the script that moves between lines and opens them: without it the page works too."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()


def _places(spans: Sequence[Span], root: Span) -> str:
    """Where the bars stand: rules of the style, since the policy lets no attribute of an element style it."""
    whole = max(root.end - root.start, 1e-9)
    rules = []
    for span in spans:
        left = min(max((span.start - root.start) / whole * 100, 0.0), 99.6)
        width = min(max((span.end - span.start) / whole * 100, 0.4), 100 - left)
        rules.append(f"#b{span.sequence}{{left:{left:.3f}%;width:{width:.3f}%}}")
    return "\n".join(rules) + "\n"


def _summary(row: RunRow, root: Span, started: str) -> Iterator[tuple[str, str]]:
    told = root.attributes
    yield "State", f"{row.state.value}{f', {row.ending}' if row.ending else ''}{f', waits: {row.waiting}' if row.waiting else ''}"
    yield "Started", f"{started} UTC"
    parked = told.get("parked")
    yield "Active", _time(root.end - root.start - (parked if isinstance(parked, float) else 0.0))
    if isinstance(parked, float):
        yield "Parked", _time(parked)
    yield "Caller", f"{row.header.caller} of {row.header.tenant}"
    tokens = told.get("tokens")
    if isinstance(tokens, Mapping) and any(tokens.values()):
        yield (
            "Tokens",
            ", ".join(
                f"{number:,} {word.replace('_', ' ')}" for word, number in tokens.items() if number and word != "estimated"
            ),
        )
    if told.get("steps"):
        yield "Model turns", f"{told['steps']} in {told.get('attempts', told['steps'])} attempts"
        yield "Cost", "unknown: a model has no price" if told.get("cost") is None else f"${told['cost']}"
    yield "Program", row.header.program[:16]


def _tree(below: Mapping[int | None, Sequence[Span]], span: Span, root: Span) -> Iterator[str]:
    """A line with what is below it. Not by recursion: a run may be nested as deep as its program."""
    stack: list[tuple[Span, bool]] = [(span, False)]
    while stack:
        one, done = stack.pop()
        children = below.get(one.sequence, [])
        if done:
            yield "</ol></li>"
            continue
        yield _item(one, root)
        if children:
            yield f'<ol aria-label="below {escape(visible(one.name), quote=True)}">'
            stack.append((one, True))
            stack += [(child, False) for child in reversed(children)]
        else:
            yield "</li>"


def _item(span: Span, root: Span) -> str:
    bad = span.outcome not in _WELL
    outcome = f' <span class="out">{_text(span.outcome)}</span>' if bad else ""
    taint = f' <span class="taint" title="outside data">from {_text(", ".join(span.taint))}</span>' if span.taint else ""
    parked = span.attributes.get("parked")
    length = span.end - span.start - (parked if isinstance(parked, float) else 0.0)
    took = f"{_time(length)}{f', parked {_time(parked)}' if isinstance(parked, float) else ''}"
    cost, tokens = span.attributes.get("cost"), _tokens(span)
    label = span.name.partition(".")[2] or span.name
    return (
        f'<li><details class="{"bad" if bad else "well"}"><summary>'
        f'<span class="name"><b>{_text(span.kind)}</b> {_text(label)}{outcome}{taint}</span>'
        f'<span class="time">{took}</span><span class="tokens">{tokens}</span>'
        f'<span class="cost">{_text(f"${cost}") if isinstance(cost, str) else ""}</span>'
        f'<span class="lane" aria-hidden="true"><i id="b{span.sequence}" class="bar {escape(span.kind)}"></i></span></summary>'
        f"{_facts(_details(span, root))}</details>"
    )


def _details(span: Span, root: Span) -> Iterator[tuple[str, str]]:
    yield "Outcome", span.outcome or "not recorded"
    yield "Begins", f"{_time(span.start - root.start)} after the start"
    yield "Takes", _time(span.end - span.start)
    if span.path:
        yield "Step", span.path
    for word in (*CLASSES, "estimated", "cost"):
        if span.attributes.get(word):
            yield word.replace("_", " ").capitalize(), str(span.attributes[word])
    for word, value in span.attributes.items():
        if word not in _TOLD_APART and value not in (None, "", [], {}):
            yield (
                word.replace("_", " ").capitalize(),
                value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str),
            )
    if span.taint:
        yield "Outside data", ", ".join(span.taint)
    content = dict(span.content or {})
    system, tools, messages = (content.pop(word, None) for word in ("system", "tools", "messages"))
    if isinstance(messages, list):
        # What a model was sent comes before what it said.
        yield from [("Sent: system", str(system))] if system is not None else []
        yield from [("Offered", ", ".join(map(str, tools)))] if isinstance(tools, list) and tools else []
        yield from [(f"Sent: {who}", text) for who, text in map(prompt.told, messages)]
    for word, value in content.items():
        told = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str)
        yield f"{word.capitalize()} (content)", told


def _facts(facts: Iterator[tuple[str, str]]) -> str:
    rows = [f"<div><dt>{_text(name)}</dt><dd>{_text(_cut(value))}</dd></div>" for name, value in facts]
    return f"<dl>{''.join(rows)}</dl>"


def _tokens(span: Span) -> str:
    if span.kind not in ("turn", "retry"):
        return ""
    total = sum([number for word in CLASSES if isinstance(number := span.attributes.get(word), int)])
    return f"{total:,} tokens" if total else ""


def _time(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"


def _text(text: str) -> str:
    """Outside text on the page."""
    return escape(visible(text), quote=True)
