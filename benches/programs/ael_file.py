"""One module of a given number of lines, for the language server: the examples, repeated, each copy with names of its own."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTS = (
    ("research/main.ael",),
    ("triage/main.ael",),
    ("support-fleet/orders.ael", "support-fleet/main.ael"),
    ("numbers/main.ael",),
)
"""Programs, each with its modules, which become one."""
_NAME = re.compile(
    r"^(?:pub )?(?:record|enum|error|type|const|fn|tool|node|agent|skill|service|model|store|provide) (\w+)", re.MULTILINE
)
_ALIAS = re.compile(r"^provide \w+ as (\w+)", re.MULTILINE)
_EXTERN = re.compile(r'extern "[^"]*"')
PACK = 'pack bench {\n  version "1.0.0"\n  extern "warehouse"\n}\n'
_RIGHT = re.compile(r"^(?:permission|role) ([a-z][\w.]*)", re.MULTILINE)
_TITLE = re.compile(r'^test "([^"]*)"', re.MULTILINE)
_USE = re.compile(r"^use .*\n", re.MULTILINE)


def text(lines: int) -> str:
    """A module of at least so many lines, without an error."""
    sources = ["".join((ROOT / "examples" / part).read_text(encoding="utf-8") for part in parts) for parts in PARTS]
    uses = "".join(sorted({use for source in sources for use in _USE.findall(source) if " ./" not in use}))
    bodies = [re.sub(r"^//!.*\n", "", _USE.sub("", source), flags=re.MULTILINE) for source in sources]
    written = uses + "\n"
    copy = 0
    while written.count("\n") < lines:
        for body in bodies:
            copy += 1
            written += _renamed(body, copy).strip() + "\n\n"
            if written.count("\n") >= lines:
                break
    return written


def _renamed(body: str, copy: int) -> str:
    declared = [*_NAME.findall(body), *_ALIAS.findall(body)]
    names = {name: f"{name}C{copy}" if name[0].isupper() else f"{name}_{copy}" for name in declared}
    names |= {right: f"{right}_{copy}" for right in _RIGHT.findall(body)}
    found = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})\b")
    parts = _EXTERN.split(body)
    kept = [*_EXTERN.findall(body), ""]
    renamed = "".join(found.sub(lambda match: names[match[0]], part) + extern for part, extern in zip(parts, kept, strict=True))
    return _TITLE.sub(rf'test "\1 {copy}"', renamed)
