"""What a `script` statement is about, while its turns are looked at."""

from __future__ import annotations

from ael.data import dataclass
from ael.types.signature import Repeat, Signature

OF_MODEL = frozenset({"final", "text", "call", "cut", "refused", "unavailable", "recorded"})
OF_SERVER = frozenset({"final", "text", "refused", "unavailable"})
OF_CALL = frozenset({"final", "fails", "unavailable", "timeout", "uncertain", "denied"})
OF_NODE = frozenset({"final", "fails", "unavailable", "uncertain", "denied"})


@dataclass(frozen=True)
class Scripted:
    """What the turns of a `script` answer for: `shown` in the user's words, what can be answered, and the signature of what is called."""

    shown: str
    answers: frozenset[str]
    signature: Signature | None = None
    repeat: Repeat = Repeat.PURE
