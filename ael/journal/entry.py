"""A record of a journal: plain data, addressed by its structural path (runtime.md, section 5).

A call has three records: *proposed*, *started* (with its key, before anything is sent), *answered*. Values are JSON forms.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    PROPOSED = "proposed"
    STARTED = "started"
    ANSWERED = "answered"


class Kind(StrEnum):
    MODEL = "model"
    TOOL = "tool"
    OPERATION = "operation"
    STORE = "store"
    EFFECT = "effect"
    APPROVAL = "approval"
    CANCEL = "cancel"


class Ending(StrEnum):
    """How a call was answered."""

    VALUE = "value"
    ERROR = "error"
    FAULT = "fault"
    UNCERTAIN = "uncertain"
    REFUSED = "refused"


class Entry(NamedTuple):
    """`digest` is the hash of the request, `key` the idempotency key, `at` seconds since the epoch, `active` the run's seconds of
    work (in answers).

    `value`: the arguments of a proposal, the result or the record of the ending of an answer. `taint`: the outside sources that had a hand
    in the value; `derived`: the paths of the entries that it came from.
    """

    path: str
    state: State
    kind: Kind
    target: str
    digest: str
    key: str
    value: object
    ending: Ending | None
    at: float
    active: float
    taint: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()


VERSION = 1
"""What the records of a journal mean: it rises with a release that an older one could not go on after. Older ones are gone on with."""


class Header(NamedTuple):
    """What a run is pinned to: its program, entry, input digest, tenant and caller. `version` is that of its records."""

    run: str
    program: str
    entry: str
    input: str
    tenant: str
    caller: str
    started: float
    deadline: float | None
    version: int = VERSION


class Access(NamedTuple):
    """Somebody read the content of a run: when (seconds since the epoch), who, with what."""

    run: str
    at: float
    reader: str
    what: str


class Line(NamedTuple):
    """What happened where and when (seconds since the epoch): record `seq` of a run, as it is numbered in its journal."""

    seq: int
    path: str
    kind: Kind
    state: State
    target: str
    ending: Ending | None
    at: float
