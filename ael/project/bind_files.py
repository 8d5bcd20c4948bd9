"""The lines of a deployment about a program's folder: `files = folder("./workspace", write: true)`, and what is run there, `code = …`."""

from __future__ import annotations

import unicodedata

from ael.data import dataclass
from ael.project.bind_state import State, argument, construct, value
from ael.project.literal import Construct
from ael.project.wrong import Wrong, listing
from ael.syntax import nodes as n

FILES_FORM = 'it is written `files = folder("./workspace", write: true)`'
CODE_FORM = 'it is written `code = commands(test: ["python3", "-m", "unittest"], shell: true)`'
_FILES = ("write", "allow", "limit")
_CODE = ("test", "after_edit", "shell")
_LEAST, _MOST = 1, 64 << 20


@dataclass(frozen=True)
class FilesBinding:
    """A folder that a program may use. `folder` is relative to the deployment's own; `write`: whether it may change anything there.

    `allowed`: names (folded) that are kept from programs otherwise, such as `.env.test`. `limit`: the largest file, in bytes.
    """

    folder: str
    write: bool = False
    allowed: tuple[str, ...] = ()
    limit: int = 1 << 20

    @property
    def shown(self) -> str:
        """As `ael deploy check` tells it."""
        return f"the folder {self.folder}, {'to read and write' if self.write else 'to read'}"


@dataclass(frozen=True)
class CodeBinding:
    """What `std/code` may run in the folder of `files`. `test`: the command of the tests, empty for none; `after_edit`: whether each
    edit is followed by them; `shell`: whether there is a shell. In which sandbox they run, and how long, `process = …` says."""

    test: tuple[str, ...] = ()
    after_edit: bool = True
    shell: bool = False

    @property
    def shown(self) -> str:
        """As `ael deploy check` tells it."""
        tests = f"tests by `{' '.join(self.test)}`{' after each edit' if self.after_edit else ''}" if self.test else "no tests"
        return f"{tests}, {'a shell' if self.shell else 'no shell'}"


def files(state: State, binding: n.Binding) -> None:
    """`files = folder("./workspace", write: true, allow: [".env.test"], limit: 4MB)`. Raises `Wrong`."""
    found = construct(binding, ("folder",))
    node = value(binding)
    folder = found.positional[0] if len(found.positional) == 1 else None
    if not isinstance(folder, str) or not folder.strip() or "\0" in folder:
        raise Wrong("AEL0814", "`folder` takes the path of a folder, from where the deployment is", node, FILES_FORM)
    _words(found, _FILES, node, FILES_FORM)
    allowed = _texts(found, "allow", node, FILES_FORM)
    limit = found.named.get("limit", 1 << 20)
    if isinstance(limit, bool) or not isinstance(limit, int) or not _LEAST <= limit <= _MOST:
        raise Wrong("AEL0814", "`limit` is a size from 1 to 64MiB: the largest file", argument(node, "limit"), FILES_FORM)
    write = _bool(found, "write", False, node, FILES_FORM)
    own = None if state.source.path is None else state.source.path.resolve().parent
    if write and own is not None and own.is_relative_to((own / folder).resolve()):
        note = "give it a folder beside the program, such as `./workspace`"
        raise Wrong(
            "AEL0814", "this folder holds the program and its deployment, which whoever writes there could change", node, note
        )
    folded = tuple(unicodedata.normalize("NFKC", name).casefold() for name in allowed)
    state.natives["files"] = FilesBinding(folder, write, folded, limit)


def code(state: State, binding: n.Binding) -> None:
    """`code = commands(test: ["python3", "-m", "unittest"], shell: true)`. Raises `Wrong`."""
    found = construct(binding, ("commands",))
    node = value(binding)
    if "std/code" not in state.packages:
        note = "add `uses std/code` to `pack.ael`: what a pack does not list does not exist for the program"
        raise Wrong("AEL0845", "a `code` line needs the optional package `std/code`", binding.kind, note)
    if found.positional:
        raise Wrong("AEL0814", "`commands` takes its words by name", node, CODE_FORM)
    _words(found, _CODE, node, CODE_FORM)
    test = _texts(found, "test", node, CODE_FORM)
    if "test" in found.named and not test:
        raise Wrong("AEL0814", "`test` is a command and its arguments", argument(node, "test"), CODE_FORM)
    state.natives["code"] = CodeBinding(
        test,
        _bool(found, "after_edit", True, node, CODE_FORM),
        _bool(found, "shell", False, node, CODE_FORM),
    )


def _words(found: Construct, known: tuple[str, ...], node: n.Expr, form: str) -> None:
    for word in found.named:
        if word not in known:
            raise Wrong("AEL0814", f"`{found.name}` has no `{word}`", argument(node, word), listing("there is", known))


def _bool(found: Construct, word: str, default: bool, node: n.Expr, form: str) -> bool:
    said = found.named.get(word, default)
    if not isinstance(said, bool):
        raise Wrong("AEL0814", f"`{word}` is `true` or `false`", argument(node, word), form)
    return said


def _texts(found: Construct, word: str, node: n.Expr, form: str) -> tuple[str, ...]:
    said = found.named.get(word, [])
    if not isinstance(said, list) or not all(isinstance(one, str) and one and "\0" not in one for one in said):
        raise Wrong("AEL0814", f"`{word}` is a list of texts", argument(node, word), form)
    return tuple(str(one) for one in said)
