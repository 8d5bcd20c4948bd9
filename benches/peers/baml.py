"""BAML's compiled client: generated from ``programs/classify.baml`` on first use, called from Python (`http`, `memory`)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from benches.peers import scenario

PROGRAM = Path(__file__).resolve().parent.parent / "programs" / "classify.baml"


def generated() -> Path:
    """The folder with the generated package, beside the environment."""
    folder = Path(sys.prefix) / "generated"
    source = folder / "baml_src"
    if not (source / "main.baml").exists() or (source / "main.baml").read_bytes() != PROGRAM.read_bytes():
        shutil.rmtree(folder, ignore_errors=True)
        source.mkdir(parents=True)
        shutil.copyfile(PROGRAM, source / "main.baml")
        command = [str(Path(sys.prefix) / "bin" / "baml-cli"), "generate", "--from", str(source)]
        subprocess.run(command, check=True, stdout=sys.stderr)
    return folder


sys.path.insert(0, str(generated()))

from baml_client.async_client import b  # noqa: E402  (made by the line above)


async def call() -> None:
    assert (await b.Classify(scenario.TICKET)).topic.value == "Refund"


OPS: dict[str, Any] = {
    "http": scenario.http_op(call),
    "memory": scenario.memory_op(os.environ["BENCH_MODEL_URL"], call),
}
