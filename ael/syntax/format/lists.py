"""Layout of what stands in brackets."""

from __future__ import annotations

from collections.abc import Sequence

from ael.syntax.format.stream import Stream
from ael.syntax.tree import Node


def bracketed(
    p: Stream, opener: str, closer: str, members: Sequence[Node], *, trailing: bool = True,
    keep: bool = False, hug: bool = False,
) -> None:  # fmt: skip
    """`( a, b )`: on one line, or each member on its own. `keep` keeps what the source has broken, `hug` never breaks by itself."""
    wide = keep and p.breaks_after()
    if not members:
        p.take(opener)
        with p.indent():
            p.inner_comments(first=True)
        if p.commented is not None:
            p.hard()
        p.take(closer)
        return
    if hug:
        p.take(opener)
        for index, member in enumerate(members):
            if index:
                p.take(",")
                p.space()
            p.show(member)
        p.skip(",")
        p.take(closer)
        return
    with p.group(broken=wide):
        p.take(opener)
        with p.indent():
            p.soft()
            for index, member in enumerate(members):
                if index:
                    p.take(",")
                    p.line()
                p.show(member)
            p.skip(",")
            if trailing:
                p.when_broken(",")
            p.inner_comments()
        p.soft()
        p.take(closer)


def comma_list(p: Stream, members: Sequence[Node]) -> None:
    """`a, b`, with more lines where they are needed."""
    with p.group(), p.indent():
        for index, member in enumerate(members):
            if index:
                p.take(",")
                p.line()
            p.show(member)


def braced(p: Stream, members: Sequence[Node], *, flat: str | None = ", ", most: int = 1_000) -> None:
    """`{ … }`: members on lines of their own, or on one line when the source has the first beside the `{` and all fit.

    `flat` is what separates them on one line, None when they need lines; then one line holds one member.
    """
    wide = p.breaks_after() or (flat is None and len(members) > 1) or len(members) > most
    if not members:
        p.take("{")
        with p.indent():
            p.inner_comments(first=True)
        if p.commented is not None:
            p.hard()
        p.skip(",")
        p.take("}")
        return
    with p.group(broken=wide):
        p.take("{")
        with p.indent():
            if wide:
                p.hard()
                p.lead(first=True)
            else:
                p.line()
            for index, member in enumerate(members):
                if index:
                    p.skip(",")
                    if flat is None:
                        p.hard()
                    else:
                        p.line(flat)
                    p.lead()
                p.show(member)
            p.skip(",")
            p.inner_comments()
        if wide:
            p.hard()
        else:
            p.line()
        p.take("}")
