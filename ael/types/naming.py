"""Names as providers allow them: letters, digits, `_` and `-`, at most 64. The mapping is injective and does not depend on order.

A dot becomes `__`: `crm.get_customer` is `crm__get_customer`. That is only done where it can be told backwards: parts that neither
hold `__` nor begin or end with `_`. Any other name becomes its legal characters followed by `__` and a digest of the whole.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

NAME_LENGTH = 64
_DIGEST = 16
_PART = re.compile(r"[A-Za-z](?:_?[A-Za-z0-9-])*")
_DIGEST_PART = re.compile(r"[0-9a-f]{16}")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]+")


def wire_name(name: str) -> str:
    """The provider's name for `name`. Distinct names have distinct ones (up to a collision of 64 bits of SHA-256)."""
    parts = name.split(".")
    if all(map(_PART.fullmatch, parts)) and not _DIGEST_PART.fullmatch(parts[-1]):
        plain = "__".join(parts)
        if len(plain) <= NAME_LENGTH:
            return plain
    readable = _ILLEGAL.sub("_", name).strip("_") or "tool"
    if not readable[0].isalpha():
        readable = f"t_{readable}"
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{readable[: NAME_LENGTH - _DIGEST - 2].rstrip('_')}__{digest}"


def wire_names(names: Iterable[str]) -> Mapping[str, str]:
    """Provider's name -> name, for all of `names`; raises ValueError where two would meet, naming both."""
    found: dict[str, str] = {}
    for name in sorted(set(names)):
        wire = wire_name(name)
        if wire in found:
            raise ValueError(f"the names `{found[wire]}` and `{name}` would both be `{wire}` for the provider")
        found[wire] = name
    return MappingProxyType(found)
