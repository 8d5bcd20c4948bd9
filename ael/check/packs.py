"""Packs in a program: whose a module is, what `use` means there, and how permissions and roles of another pack are called.

The modules of the program's own pack have their own names (`main`, `orders`), those of a pack that it depends on that pack's name in
front (`refunds/main`, `refunds/orders`). A permission or role of such a pack has its name in front too (`refunds.orders.refund`), in all
of the program but in the pack itself, which calls it by its own name. The standard library's have `std` in front (`std.files.read`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TypeAlias

from ael.data import dataclass

MAIN = "main"
"""The module that a pack's own name means: `use refunds` is `use refunds/main`."""


STANDARD = "std"
"""What stands in front of the names of the standard library: its modules (`std/files`), and its permissions (`std.files.read`)."""


@dataclass(frozen=True)
class PackFacts:
    """What the check has to know of a pack: the packs that it depends on, and the Python modules that it lets `extern` name."""

    depends: frozenset[str] = frozenset()
    externs: frozenset[str] = frozenset()


Packs: TypeAlias = Mapping[str, PackFacts]
"""The packs of a program by name; "" is its own."""
ALONE: Packs = MappingProxyType({"": PackFacts()})
"""A program that depends on no pack."""


def pack_of(packs: Packs, module: str) -> str:
    """The pack of a module, "" for the program's own and for the standard library."""
    head, slash, _ = module.partition("/")
    return head if slash and head in packs else ""


def apart(packs: Packs, one: str, other: str) -> bool:
    """Whether two modules are of different packs. The standard library is one."""
    return pack_of(packs, one) != pack_of(packs, other) or one.startswith("std/") != other.startswith("std/")


def foreign(packs: Packs, module: str, main: str = "") -> bool:
    """Whether a module is not the program's own: of a pack that it depends on, or of the standard library.

    The library's are when one of them is the `main` that is looked at: somebody works on the library itself.
    """
    if module.startswith(f"{STANDARD}/"):
        return not main.startswith(f"{STANDARD}/")
    return pack_of(packs, module) != ""


def absent(packs: Packs, pack: str, name: str) -> bool:
    """Whether a pack depends on `name` and it is not there: that is told where it says so, and nothing that follows from it is news."""
    return name not in packs and name in packs[pack].depends


def resolve(path: str, user: str, packs: Packs = ALONE) -> str | None:
    """The name of the module that `use path` means in the module `user`; None when it leaves the pack or has no meaning."""
    if path.startswith("std/"):
        return path
    own = pack_of(packs, user)
    if not path.startswith("."):
        head, _, rest = path.partition("/")
        facts = packs.get(own)
        return f"{head}/{rest or MAIN}" if facts is not None and head in facts.depends and head in packs else None
    parts = list(PurePosixPath(user).parent.parts)[1 if own else 0 :]
    for part in PurePosixPath(path).parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join([own, *parts] if own else parts) if parts else None


def private(module: str) -> bool:
    """Whether a module is for its pack alone: a part of its name begins with `_`."""
    return any(part.startswith("_") for part in module.split("/"))


def spelled(module: str, user: str, packs: Packs) -> str | None:
    """How `use` in the module `user` writes the name of another module; None where it cannot be used, or only by a longer way."""
    own, other = pack_of(packs, user), pack_of(packs, module)
    if module.startswith("std/"):
        return module
    if own == other:
        inner, at = (name.removeprefix(f"{own}/") if own else name for name in (module, user))
        return f"./{inner}" if "/" not in at else None
    if not other or other not in packs[own].depends or private(module):
        return None
    return other if module == f"{other}/{MAIN}" else module


def shared_name(packs: Packs, module: str, text: str) -> str:
    """The name in the whole program of the permission or role that is written `text` in a module."""
    own = _in_front(packs, module)
    head, dot, _ = text.partition(".")
    facts = packs.get(own)
    if not own or (dot and facts is not None and head in facts.depends):
        return text
    return f"{own}.{text}"


def written_name(packs: Packs, module: str, name: str) -> str:
    """How a module writes a permission or role: the opposite of `shared_name`."""
    own = _in_front(packs, module)
    return name.removeprefix(f"{own}.") if own else name


def holder(packs: Packs, name: str) -> str:
    """The pack whose permission or role a name in the whole program is, `std` for the standard library's."""
    head, dot, _ = name.partition(".")
    return head if dot and (head in packs or head == STANDARD) else ""


def _in_front(packs: Packs, module: str) -> str:
    """What stands in front of the names of a module's permissions and roles: its pack, or `std`."""
    return STANDARD if module.startswith(f"{STANDARD}/") else pack_of(packs, module)
