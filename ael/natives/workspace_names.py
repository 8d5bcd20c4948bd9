"""What a path in a workspace may be called: parts below its root, none of which leads back, hides, or is kept from programs.

No link is ever followed in a workspace, so what a path says is what is opened: a rule about names cannot be dodged by another name.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection

from ael.types.fault import Failure

MAX_PATH = 4_096
"""The longest path, in bytes of UTF-8 (PATH_MAX of Linux)."""
MAX_NAME = 255
"""The longest part of one, in bytes (NAME_MAX)."""
MAX_PARTS = 64
TEMPORARY = ".ael-tmp"
"""How the name of a file ends that is being written."""

HISTORY = frozenset({".git", ".hg", ".svn", ".jj"})
"""What version control keeps of itself."""
_SECRET = frozenset(
    {
        ".env", ".envrc", ".netrc", "_netrc", ".npmrc", ".pypirc", ".htpasswd", ".pgpass", ".git-credentials", ".dockercfg",
        ".aws", ".azure", ".gcloud", ".ssh", ".gnupg", ".kube", ".docker", ".age", ".vault-token",
        "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "credentials.json", "service-account.json",
    }
)  # fmt: skip
_SECRET_ENDS = (".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".tfstate")
_EXAMPLES = frozenset({".env.example", ".env.sample", ".env.template", ".env.dist"})


def outside(path: str, reason: str) -> Failure:
    """`OutsideWorkspace`: the workspace does not give this path to a program."""
    return Failure("OutsideWorkspace", {"path": shown(path), "reason": reason})


def shown(path: str) -> str:
    """A path as an error carries it: bounded, and no control characters."""
    return "".join(c if c.isprintable() else "\ufffd" for c in path[:1_000])


def parts_of(path: str, allowed: Collection[str] = ()) -> tuple[str, ...]:
    """The parts of a path below the root; none for the root itself (`""` or `"."`). Raises `Failure` (OutsideWorkspace).

    `allowed`: names, folded, that would be kept from programs otherwise.
    """
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise outside(path, "it is no text that UTF-8 can write") from None
    if size > MAX_PATH:
        raise outside(path, f"it has {size:,} bytes, and a path has at most {MAX_PATH:,}")
    if path.startswith("/"):
        raise outside(path, "it is absolute: write it from the workspace's own folder, such as `src/main.py`")
    if "\\" in path:
        raise outside(path, "it has a `\\`: the parts of a path stand between `/`")
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if len(parts) > MAX_PARTS:
        raise outside(path, f"it is deeper than {MAX_PARTS} folders")
    for part in parts:
        reason = refused(part, allowed)
        if reason is not None:
            raise outside(path, reason)
    return parts


def refused(name: str, allowed: Collection[str] = ()) -> str | None:
    """Why a part of a path is refused; None when it may stand."""
    if name == "..":
        return "`..` leads out of a folder: write the path from the workspace's own folder"
    if any(unicodedata.category(c) in ("Cc", "Cs") for c in name):
        return "it has control characters"
    if len(name.encode("utf-8", "surrogateescape")) > MAX_NAME:
        return f"a part of it is longer than {MAX_NAME} bytes"
    found = folded(name)
    if not found.strip(" ."):
        return "a part of it is only dots, blanks or characters that nobody sees"
    if found.endswith(TEMPORARY):
        return f"a name that ends in `{TEMPORARY}` is a file that is being written"
    if found in allowed:
        return None
    if found in HISTORY or found.startswith("git~"):
        return "what version control keeps of itself is not for programs"
    secret = found in _SECRET or found.endswith(_SECRET_ENDS) or (found.startswith(".env.") and found not in _EXAMPLES)
    return "by its name it holds secrets; the deployment may allow it" if secret else None


def folded(name: str) -> str:
    """A name as the most forgiving file system reads it: without case, forms of letters, unseen characters, streams, final dots."""
    text = unicodedata.normalize("NFKC", name)
    text = "".join(c for c in text if unicodedata.category(c) != "Cf").partition(":")[0]
    return text.casefold().rstrip(" .") if text.strip(".") else text


def nameable(name: str, allowed: Collection[str] = ()) -> bool:
    """Whether a name that was found in a folder is shown to programs: they could open it."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return "\\" not in name and refused(name, allowed) is None
