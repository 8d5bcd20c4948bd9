"""`ael serve --watch`: a process that serves the program as it is, and another one after each change that checks.

This process holds the listening socket, so nobody is turned away meanwhile: the next process takes calls before the one before is told to
end, which lets the calls that it has come to their ends. A new process also has the Python modules of the program as they are now.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import socket
import subprocess
import sys
import time
from importlib import import_module
from typing import Any

from ael.cli import watching
from ael.cli.opening import opened_or_told
from ael.cli.serve import INHERITED
from ael.project.program import Opened
from ael.project.watched import Watched

_START = 60.0
"""Seconds that a process has until it takes calls."""


def serve_watched(args: argparse.Namespace, opened: Opened, host: str, port: int | None, grpc_port: int | None) -> int:
    """Serve until an interrupt. Gives the exit code of the last server. Raises `HostError` where the port cannot be had."""
    known = bool(opened.deployment.serving.callers)
    listener = import_module("ael.server.listener")
    bound: socket.socket | None = None if port is None else listener.bind(host, port, known=known)
    if grpc_port is not None:
        # A free port is chosen once: the next process has to have the same.
        grpc_port = listener.probed(host, grpc_port, known=known)
    desk = _Desk(args, bound, host, grpc_port)
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        desk.take_over()
        if desk.serving is None:
            return desk.code
        desk.watch()
        return desk.code
    except KeyboardInterrupt:
        return desk.end()
    finally:
        signal.signal(signal.SIGTERM, before)
        desk.kill()
        if bound is not None:
            bound.close()


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


class _Desk:
    def __init__(self, args: argparse.Namespace, bound: socket.socket | None, host: str, grpc_port: int | None) -> None:
        self.args = args
        self.bound = bound
        self.host = host
        self.grpc_port = grpc_port
        self.serving: subprocess.Popen[bytes] | None = None
        self.ending: list[subprocess.Popen[bytes]] = []
        self.code = 2

    def watch(self) -> None:
        """Look at the files until an interrupt."""
        watched = Watched([self.args.path])
        told = False
        while True:
            watching.wait(watching.PAUSE)
            self.ending = [one for one in self.ending if one.poll() is None]
            if self.serving is not None and self.serving.poll() is not None and not told:
                told = True
                print(
                    f"ael serve: the server ended ({self.serving.returncode}); a change starts it anew",
                    file=sys.stderr,
                    flush=True,
                )
            changed = watching.settled(watched)
            if changed:
                print(f"\n--- {watching.said(changed)}, serving it ---", file=sys.stderr, flush=True)
                told = not self.changed()

    def changed(self) -> bool:
        """Serve the program as it is now; whether that is so."""
        opened = opened_or_told(self.args.path, self.args.deploy)
        if isinstance(opened, int):
            print("ael serve: the program as it was before is served on", file=sys.stderr, flush=True)
            return False
        return self.take_over()

    def take_over(self) -> bool:
        """Start a server; once it takes calls, the one before ends when its calls have."""
        here, there = os.pipe()
        given = [] if self.bound is None else [self.bound.fileno()]
        try:
            command = [sys.executable, "-m", "ael", "serve", str(self.args.path), *self._words()]
            environment = {**os.environ, INHERITED: f"{given[0] if given else ''},{there}"}
            # Not of this process's group: an interrupt from the keyboard comes once, by way of this process.
            new = subprocess.Popen(command, env=environment, pass_fds=(*given, there), start_new_session=True)
        finally:
            os.close(there)
        ready = self._ready(here, new)
        os.close(here)
        if not ready:
            new.kill() if new.poll() is None else None
            self.code = new.wait()
            if self.serving is not None:
                print("ael serve: the program as it was before is served on", file=sys.stderr, flush=True)
            return False
        old, self.serving = self.serving, new
        if old is not None and old.poll() is None:
            old.send_signal(signal.SIGTERM)
            self.ending.append(old)
        return True

    def _words(self) -> list[str]:
        args = self.args
        words = [f"--{name}" for name in ("connect", "grpc", "mcp") if getattr(args, name)]
        words += ["--host", self.host]
        if self.grpc_port is not None:
            words += ["--grpc-port", str(self.grpc_port)]
        if args.deploy is not None:
            words += ["--deploy", args.deploy]
        return words + [word for name in args.only for word in ("--only", name)]

    def _ready(self, here: int, process: subprocess.Popen[bytes]) -> bool:
        """Wait until it says that it takes calls; False when it ends before, or never says so."""
        until = time.monotonic() + _START
        while time.monotonic() < until:
            readable, _, _ = select.select([here], [], [], 0.2)
            if readable:
                return os.read(here, 1) == b"1"
            if process.poll() is not None:
                return False
        return False

    def end(self) -> int:
        """Let the calls in flight end; a second interrupt ends all at once. Gives the exit code."""
        found = [one for one in (self.serving, *self.ending) if one is not None and one.poll() is None]
        for one in found:
            if one is self.serving:
                one.send_signal(signal.SIGINT)
        try:
            for one in found:
                one.wait()
        except KeyboardInterrupt:
            self.kill()
            return 130
        return 0 if self.serving is None else self.serving.returncode

    def kill(self) -> None:
        """End what is left at once."""
        for one in (self.serving, *self.ending):
            if one is not None and one.poll() is None:
                one.kill()
                one.wait()


def inherited(words: str) -> Any:
    """What the variable says: `SOCKET,READY`. Raises `ValueError`."""
    listening, _, ready = words.partition(",")
    return import_module("ael.server.inherited").Inherited(int(listening) if listening else None, int(ready))
