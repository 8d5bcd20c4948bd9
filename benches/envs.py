"""The peers' own environments: one virtual environment a peer, with pinned versions, kept outside the repository.

They are made on first use under ``$AEL_BENCHES_CACHE`` (default ``~/.cache/ael-benches``) and found again by the
digest of their pins.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Peer:
    """A product that is measured against: its name as printed, the packages of its environment, whether a round takes long."""

    name: str
    pins: tuple[str, ...]
    slow: bool = True

    @property
    def title(self) -> str:
        """Name and version, such as ``langgraph 1.2.24``."""
        return f"{self.name} {self.pins[0].partition('==')[2]}"


LANGGRAPH = Peer(
    "langgraph",
    ("langgraph==1.2.24", "langchain-openai==1.7.4", "langchain-core==1.8.3", "openai==3.57.0", "httpx==0.28.1"),
)
PYDANTIC_AI = Peer("pydantic_ai", ("pydantic-ai-slim[openai]==2.68.0", "openai==3.57.0", "httpx2==2.16.2"))
OPENAI_AGENTS = Peer("openai_agents", ("openai-agents==0.24.0", "openai==3.57.0", "httpx2==2.16.2"))
BAML = Peer("baml", ("baml-py==0.226.3", "pydantic==2.14.4", "typing-extensions"), slow=False)
PYDANTIC = Peer("pydantic", ("pydantic==2.14.4", "pydantic-core==2.50.5"), slow=False)
MCP_SDK = Peer("mcp_sdk", ("mcp==2.3.0", "uvicorn==0.54.0"), slow=False)
LANGGRAPH_SQLITE = Peer("langgraph_sqlite", ("langgraph==1.2.24", "langgraph-checkpoint-sqlite==3.1.2", "langchain-core==1.8.3"))
DBOS = Peer("dbos", ("dbos==3.4.0",))
FASTAPI = Peer("fastapi", ("fastapi==0.142.2", "uvicorn[standard]==0.54.0", "pydantic==2.14.4"), slow=False)
PEERS = (LANGGRAPH, PYDANTIC_AI, OPENAI_AGENTS, BAML, PYDANTIC, MCP_SDK)


def cache() -> Path:
    """Where environments are kept."""
    return Path(os.environ.get("AEL_BENCHES_CACHE") or Path.home() / ".cache" / "ael-benches")


def home(peer: Peer) -> Path:
    """The folder of the peer's environment, which changes with its pins and with this interpreter's version."""
    digest = hashlib.sha256("\n".join([sys.version, *peer.pins]).encode()).hexdigest()[:12]
    return cache() / f"{peer.name}-{digest}"


def run(command: list[str]) -> None:
    """Run a step of making an environment; what it says is shown only when it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
        done.check_returncode()


def python_of(peer: Peer) -> Path:
    """The peer's interpreter; makes the environment when it is not there. Raises `CalledProcessError` when that fails."""
    folder = home(peer)
    python = folder / "bin" / "python"
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        run([sys.executable, "-m", "venv", str(folder)])
        run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *peer.pins])
        (folder / "done").touch()
    return python


def script_of(peer: Peer, script: str) -> Path:
    """A command that the peer installs, such as ``baml-cli``."""
    return python_of(peer).parent / script
