"""Where a deployment keeps its runs, and how they are worked on: data."""

from __future__ import annotations

from typing import Literal

from ael.data import dataclass, field

DEFAULT_PATH = ".ael/runs.db"
"""Where runs are kept that a deployment says nothing of, below its folder."""


@dataclass(frozen=True)
class RunsBinding:
    """`runs = sqlite("runs.db", lease: 30s, slots: 8)`. Times in seconds.

    `secret` names the address of a PostgreSQL database. `lease`: how long a worker has a run without a sign of life. `drain`: how long a
    run has to come to its next effect when its worker is told to stop. `slots`: the runs that a worker works on at once; `per_tenant` those
    of a tenant over all workers. `approval`: how long a person has for a decision. `keep`: how long a run that has ended is kept.
    `evidence`: what a person is shown of the content of a run (arguments, results, what a model said), where it is asked for: nothing, its
    form alone, or all but secrets. `redact`: the names of the fields that `redacted` hides; where there are some, it shows the others.
    `evidence_keep`: how long the content of a run that has ended is kept; None: as long as the run.
    `park_uncertain`: a run waits for a person to say what became of a call whose outcome is unknown.
    `said`: whether the deployment says anything of its runs; a server keeps those of its callers only where it does.
    """

    kind: Literal["sqlite", "postgres", "memory"] = "sqlite"
    path: str = DEFAULT_PATH
    secret: str | None = None
    lease: float = 30.0
    drain: float = 20.0
    slots: int = 8
    per_tenant: int | None = None
    approval: float | None = None
    keep: float | None = None
    park_uncertain: bool = False
    evidence: Literal["none", "redacted", "full"] = "full"
    redact: tuple[str, ...] = ()
    evidence_keep: float | None = None
    said: bool = field(default_factory=bool, compare=False)
