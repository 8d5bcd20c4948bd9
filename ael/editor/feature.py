"""What the language server hands to a feature, and how a feature says that something cannot be done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from lsprotocol import types as lsp

from ael.data import dataclass
from ael.editor.snapshot import File, Snapshot


class Refused(Exception):
    """What the user asked for cannot be done; the text is a sentence for them."""


@dataclass(frozen=True)
class Feature:
    """Where the function is that answers an LSP method: `ael.editor.features.MODULE.FUNCTION(asked, params)`, loaded when first asked.

    `options` are what the server says of the method when it starts (`CompletionOptions(…)`).
    """

    module: str
    function: str
    options: object = None


@dataclass(frozen=True, eq=False)
class Asked:
    """The program that a request is about and the file in it (of a request about none: the main one).

    `others` analyses the other programs of the workspace; that may take long. `settings` are those of the client under `ael`.
    """

    snapshot: Snapshot
    file: File
    client: lsp.ClientCapabilities
    settings: Mapping[str, object]
    others: Callable[[], Iterable[Snapshot]] = tuple
