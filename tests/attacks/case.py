"""What an attack is, and its twin: a program, what the outside says, and what the model does about it.

The model is taken to be wholly the attacker's: it does what the hostile data says. What has to stop it is the program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ael.run.ports import Decision

if TYPE_CHECKING:
    from tests.attacks.play import Played

Turns = Sequence[object] | Mapping[str, Sequence[object]]

CHECKS: dict[str, str] = {
    "name": "the call's name is on no list of the node (check 1)",
    "arguments": "the arguments do not decode into the tool's input type (check 2)",
    "permission": "the permission is not granted by every layer (check 3)",
    "budget": "the budget has no room (check 4)",
    "approval": "a person is asked, sees the call as it would run, and says no (check 5)",
    "trusted": "a `trusted` parameter takes only an input of the run, else a person is asked",
    "turn": "the turn runs nothing: it was cut, or it had its final result, or no step was left",
    "output": "the final result does not decode into the node's output type",
    "data": "the text is data: nothing reads it as a call, a template or an instruction",
    "body": "the tool itself refuses, with a declared error that the model reads",
    "secret": "the secret has no text form, or is masked as it comes in",
    "tenant": "each tenant has its own rows",
    "shown": "what is shown to a person cannot steer a terminal or hide a part",
    "changed": "the definition differs from the one that is pinned: nothing is sent",
    "ending": "the run ends with a typed fault before the effect",
    "journal": "the provenance is written by the run time beside the value, and only added to",
}
"""What stops an attack that the check of the program does not stop, by its word in the tables. A code (`AEL0701`) is a check error."""


@dataclass(frozen=True)
class Play:
    """One run. `turns`: what the model does, by model where several are asked; `says`: what the tools, servers and operations outside give,
    by their name: text, an exception, or a function; `given`: the input.

    `listed`: the definitions that the server `crm` lists, where they are not those that were pinned. `before`: runs of the same host that
    come first. `answers`: what the person says who is asked, in order; then no.
    """

    turns: Turns = ()
    says: Mapping[str, object] = field(default_factory=dict)
    given: Mapping[str, object] = field(default_factory=dict)
    entry: str = "main"
    tenant: str = "local"
    listed: Sequence[Mapping[str, object]] | None = None
    before: Sequence[Play] = ()
    answers: Sequence[Decision] = ()


Evidence = Callable[["Played"], bool]


@dataclass(frozen=True)
class Case:
    """`name` says what the attacker does. `stopped` is a word of `CHECKS` or the code of a check error; `shows` looks closer where the word
    alone is not proof enough. `left`: the effects of an attack that are rightly there, of what came before it was stopped.

    `broken`: the program of the attack, where the attack is on the program (a pack, a skill, an edit by a model); else it is `program`.
    `done`: the one effect of the twin.
    """

    name: str
    category: str
    program: str
    attack: Play
    twin: Play
    stopped: str
    done: str
    left: tuple[str, ...] = ()
    shows: Evidence | None = None
    broken: str | None = None
    deploy: str = ""
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The case in a test's name."""
        return f"{self.category}: {self.name}"
