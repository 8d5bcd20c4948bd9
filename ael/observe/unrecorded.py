"""What a run did without an effect, and so without a record: edges, visits of nodes that only compute, values that were released.

It comes from a rehearsal of the run over its journal (`ael.durable.rehearse`), whose spans have the places and the order, but not the
times: these are those of what stands around them in the record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ael.observe.made import Made
from ael.run.ports import Span

_VISITS = frozenset({"node", "agent"})
_MOMENTS = frozenset({"edge", "release"})
_ENDED = frozenset({"value", "error", "fault", "uncertain"})


def unrecorded(made: Mapping[str, Made], rehearsed: Sequence[Span], begun: float) -> dict[str, Made]:
    """The spans that stand in no record, by a key of their own; visits in `made` learn whether they were an agent's, and how they ended.

    `begun`: when the run did.
    """
    found: dict[str, Made] = {}
    around: dict[int, Made] = {}
    clock: dict[int | None, float] = {}
    for span in sorted(rehearsed, key=lambda one: one.sequence):
        above = None if span.parent is None else around.get(span.parent)
        at = clock.get(span.parent, begun if above is None else above.start)
        order = (0, span.sequence)
        one = made.get(span.path)
        if span.kind in _MOMENTS:
            time = at if one is None else min(at, one.start)
            moment = Made(span.path, span.kind, span.name, time, time, order, "value", frozenset(span.taint))
            found[f"{span.path} {span.sequence}"] = moment
            continue
        if span.kind in _VISITS:
            if one is None:
                one = found[span.path] = Made(span.path, span.kind, span.name, at, at, order, "")
            one.kind, one.name = span.kind, span.name
            one.taint |= frozenset(span.taint)
            if "skills" in span.attributes:
                one.attributes["skills"] = span.attributes["skills"]
            if one.outcome == "" and span.outcome in _ENDED:
                one.outcome = span.outcome
        if one is not None:
            around[span.sequence] = one
            one.order = order
            clock[span.parent] = max(at, one.end)
    return found
