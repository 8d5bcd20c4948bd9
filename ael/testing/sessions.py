"""Recorded sessions of real models: `script fast [recorded("refund")]` plays `__recordings__/refund.jsonl`, without a key or a network.

`ael test --record` makes them anew with the models of the deployment. A request that is not the recorded one is told with its difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from ael.hosting.failure import HostError
from ael.models.recording import RecordingError, read
from ael.models.replay import ReplayProvider
from ael.models.wrapped import WrappedProvider
from ael.run.ports import Conversation, ConversationSpec, ModelProvider
from ael.types.fault import Fault, FaultKind

FOLDER = "__recordings__"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}")

Real = Callable[[str, Path], ModelProvider]
"""(model, file) -> the model of the deployment, whose session is written to the file."""


class Sessions:
    """The recorded sessions beside one module. `real`: sessions are recorded anew."""

    def __init__(self, source: Path | None, real: Real | None = None) -> None:
        self._source = source
        self._real = real

    def model(self, model: str, turns: Sequence[object]) -> ModelProvider | None:
        """The model that a script of one `recorded("name")` is; None for a script of turns. Raises `Fault`."""
        named = [turn["recorded"] for turn in turns if isinstance(turn, dict) and "recorded" in turn]
        if not named:
            return None
        short = model.rpartition(".")[2]
        name = cast("str", named[0])
        if len(turns) > 1:
            raise _wrong(f"the script of `{short}`: a recorded session stands alone, without other turns")
        if not _NAME.fullmatch(name):
            raise _wrong(f"the script of `{short}`: the name of a recording is letters, digits, blanks, `.`, `_` and `-`")
        if self._source is None:
            raise _wrong("there is no file beside this test, so it has no recordings")
        path = self._source.parent / FOLDER / f"{name}.jsonl"
        if self._real is not None:
            try:
                path.parent.mkdir(exist_ok=True)
                return _Free(self._real(model, path))
            except HostError as error:
                raise _wrong(error.message) from None
        if not path.is_file():
            raise _wrong(f"there is no recording `{name}`: `ael test --record` makes it with the deployment's model")
        try:
            return _Free(ReplayProvider(read(path), path))
        except RecordingError as error:
            raise _wrong(str(error)) from None


class _Free(WrappedProvider):
    """Costs nothing of the program's budgets: whoever records knows that it costs."""

    def __init__(self, inner: ModelProvider) -> None:
        super().__init__(inner)
        self._session = inner

    @property
    def name(self) -> str:
        return "scripted"

    def converse(self, spec: ConversationSpec) -> Conversation:
        return self._session.converse(spec)


def _wrong(message: str) -> Fault:
    return Fault(FaultKind.UNAVAILABLE, message, sent=False, final=True)
