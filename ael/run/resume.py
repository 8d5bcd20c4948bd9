"""Going on with a run in another process: what has to hear of the turns that the journal holds hears of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ael.journal.entry import Ending, Kind, State
from ael.journal.store import RunJournal
from ael.run.bindings import BoundModel
from ael.run.ports import Opaque, Resumable


def resume(models: Iterable[BoundModel], journal: RunJournal) -> None:
    """Tell the providers whose next turn depends on earlier ones which were given."""
    providers = {id(model.provider): model.provider for model in models if isinstance(model.provider, Resumable)}
    if not providers:
        return
    for entry in journal.entries():
        if entry.kind is not Kind.MODEL or entry.state is not State.ANSWERED or entry.ending is not Ending.VALUE:
            continue
        kept = entry.value.get("opaque") if isinstance(entry.value, Mapping) else None
        if kept is not None:
            name, blocks = kept
            for provider in providers.values():
                provider.given(Opaque(str(name), tuple(blocks)))
