"""A kept run as a person may see it: by the deployment's evidence policy, without secrets; that it is read is recorded first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ael.hosting.masking import masker_of
from ael.journal.content import FORGOTTEN
from ael.journal.durable import DurableStore, RunRow
from ael.journal.entry import Entry
from ael.observe.shown import Shown, as_shown, content_of, shown
from ael.project.deployment import Deployment
from ael.run.masker import Masker


@dataclass(frozen=True)
class Seen:
    """`row` and `entries` as they are shown, `raw_row`, `raw` and `input` as they are; `show` None where no content is shown at all."""

    row: RunRow
    raw_row: RunRow
    entries: Sequence[Entry]
    raw: Sequence[Entry]
    input: object
    pinned: Mapping[str, object]
    masker: Masker
    show: Shown | None
    notes: Sequence[str] = field(default_factory=tuple)

    @property
    def whole(self) -> bool:
        """Whether everything but secrets is shown."""
        return self.show is not None and self.show.whole


async def read(store: DurableStore, deployment: Deployment, row: RunRow, reader: str, what: str, *, noted: bool = False) -> Seen:
    """Read a run, as `what` (a command) shows it to `reader`. `noted`: that is recorded already. Raises `StoreError`."""
    run = row.header.run
    if not noted:
        await store.read_by(run, reader, what)
    entries, given = await store.entries(run), await store.given(run)
    input, pinned = given if given is not None else (None, {})
    masker, binding = masker_of(deployment), deployment.runs
    show = shown(binding.evidence, masker, binding.redact, content_of(input, entries, row))
    seen, records = as_shown(row, entries, show, masker)
    return Seen(seen, row, records, entries, input, pinned, masker, show, tuple(forgotten(pinned)))


def forgotten(pinned: Mapping[str, object]) -> list[str]:
    """That the content of a run was forgotten, and when."""
    at = pinned.get(FORGOTTEN)
    return (
        [f"its content was forgotten {datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}"] if isinstance(at, int | float) else []
    )
