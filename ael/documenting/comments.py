"""The comments of a book, read once: their names resolved where they stand, as one kind of pages needs them."""

from __future__ import annotations

from collections.abc import Callable

from ael.data import dataclass
from ael.documenting.address import Addresses
from ael.documenting.comment import Comment, sentence
from ael.documenting.markdown import Linked, Rendered, one_line, rendered, rewritten
from ael.documenting.names import Names, Target


@dataclass(frozen=True, eq=False)
class Comments:
    """`addresses` say where names lead."""

    names: Names
    addresses: Addresses

    def read(self, comment: Comment, module: str, page: str, *, level: int = 4, prefix: str = "") -> Rendered:
        """A comment as it stands on a page."""
        return rendered(comment.text, self._resolve(module, page), level=level, run_indented=is_library(module), prefix=prefix)

    def markdown(self, comment: Comment, module: str, page: str) -> str:
        """The same as Markdown."""
        return rewritten(comment.text, self.read(comment, module, page).mentions)

    def sentence(self, comment: Comment | None, module: str, page: str) -> str:
        """Its first sentence as HTML."""
        return "" if comment is None else one_line(sentence(comment.text), self._resolve(module, page))

    def linked(self, target: Target, page: str) -> Linked:
        """Where something is."""
        kind = f"{target.kind} {target.qualified or target.module}"
        return Linked(self.addresses.of(target, page), f"{kind}.{target.part}" if target.part else kind)

    def _resolve(self, module: str, page: str) -> Callable[[str], Linked | None]:
        def resolve(name: str) -> Linked | None:
            target = self.names.find(module, name)
            return None if target is None else self.linked(target, page)

        return resolve


def is_library(module: str) -> bool:
    """Whether a module is of the standard library, whose indented blocks are examples as its fenced ones are."""
    return module.startswith("std/")
