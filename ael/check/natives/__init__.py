"""Native functions of the standard library: what no AEL code can do, such as a digest. Each is pure.

Modules of `std/` alone call one, as `native_TOPIC_NAME(…)`. The signature stands in the `TABLE` of the file of its topic here, what does
it in the file of the same name in `ael.lower.natives`. A topic is loaded with the first of its functions that a program calls.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec

from ael.check.builtin import Builtin
from ael.check.packs import STANDARD

_PREFIX = "native_"


def find_native(text: str, module: str) -> Builtin | None:
    """The native function that the name `text` means in a module; None where it means none."""
    if not text.startswith(_PREFIX) or not module.startswith(f"{STANDARD}/"):
        return None
    topic, _, name = text.removeprefix(_PREFIX).partition("_")
    return _topic(topic).get(f"native.{topic}.{name}")


@cache
def _topic(topic: str) -> dict[str, Builtin]:
    path = f"{__name__}.{topic}"
    if find_spec(path) is None:
        return {}
    table: tuple[Builtin, ...] = import_module(path).TABLE
    return {one.name: one for one in table}
