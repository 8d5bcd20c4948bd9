"""Try expressions, statements and declarations, one after the other.

    ael repl                                  an empty session
    ael repl main.ael --grant orders.read     in a program, with its deployment; the session may read orders
    ael repl -e '1 + 2' -e 'it * 2'           these inputs, and end
    ael repl main.ael < inputs.ael            those of a file

Inputs are checked and run as a program is, with the same checks, approvals and budgets. A session may use no permission that was not
granted to it (`--grant`, `:grant`). `:help` lists the commands. Values go to standard output, everything else to standard error.
Exit code 0; with `--strict` 1 at the first input that fails; 2 for bad usage or a program that does not check.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from ael.cli.approve import FixedApprover, TerminalApprover
from ael.cli.flags import InputError, collect
from ael.cli.interrupt import Interrupt, caught, released
from ael.cli.outcome import print_outcome
from ael.cli.progress import Progress, clean
from ael.cli.report import tell, use_colour
from ael.data import replace
from ael.diagnostics.render import render_all
from ael.project.deployment import Deployment
from ael.repl.commands import Commands, Misuse
from ael.repl.completion import completions
from ael.repl.lines import Ended, Interrupted, Lines, edited
from ael.repl.reading import kind_of
from ael.repl.session import Result, Session
from ael.run.bindings import system_user
from ael.run.outcome import Faulted, Outcome, Value
from ael.run.ports import Approver
from ael.run.run import Run
from ael.types.definition import Definitions
from ael.types.fault import FaultKind
from ael.types.signature import Signature


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael repl`."""
    parser.add_argument("path", nargs="?", type=Path, metavar="FILE", help="a program: a file, or a folder with a `main.ael`")
    parser.add_argument("--deploy", metavar="NAME", help="use `deploy.NAME.ael`")
    parser.add_argument(
        "--grant", action="append", default=[], metavar="PERMISSION", help="let the session use a permission (`all`: every one)"
    )
    parser.add_argument(
        "-e", "--eval", action="append", metavar="INPUT", dest="inputs", help="take this input, and no other than such"
    )
    parser.add_argument("--strict", action="store_true", help="end with exit code 1 at the first input that fails")
    parser.add_argument("--no-history", action="store_true", help="neither read nor keep what was typed before")
    answer = parser.add_mutually_exclusive_group()
    answer.add_argument("--approve", action="store_true", help="approve every call that needs it")
    answer.add_argument("--deny", action="store_true", help="deny every call that needs an approval")


def run(args: argparse.Namespace) -> int:
    """Take inputs until there are no more."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        # A shell that starts something in the background has it ignore interrupts; a prompt is always for somebody who types.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        events = (lambda: Progress(colour=use_colour(), verbose=True)) if sys.stderr.isatty() else None
        session = Session(approver_of=lambda deployment: _approver(deployment, args), watching=_watched, events=events)
        session.deploy = args.deploy
        with asyncio.Runner() as runner:
            try:
                return _Prompt(session, runner, args).run()
            finally:
                runner.run(session.close())
    except BrokenPipeError:
        raise
    except OSError as error:
        print(f"ael repl: {(error.strerror or str(error)).lower()}", file=sys.stderr)
        return 2


def _approver(deployment: Deployment, args: argparse.Namespace) -> Approver:
    if args.approve or args.deny:
        return FixedApprover(args.approve, system_user(), deployment.roles)
    return TerminalApprover(system_user(), deployment.roles)


@contextmanager
def _watched(run: Run) -> Iterator[None]:
    """Signals cancel the run."""
    interrupt = Interrupt(run, asyncio.get_running_loop())
    before = {number: caught(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        released(before)


class _Prompt:
    def __init__(self, session: Session, runner: asyncio.Runner, args: argparse.Namespace) -> None:
        self.session = session
        self.runner = runner
        self.args = args
        self.commands = Commands(session, _values, (InputError,))

    def run(self) -> int:
        args = self.args
        if args.path is not None:
            loaded = self.session.load(args.path / "main.ael" if args.path.is_dir() else args.path)
            self._told(loaded)
            if loaded.failed:
                return 2
        try:
            for permission in args.grant:
                self.runner.run(self.commands.take(f":grant {permission}"))
            if args.deploy is not None:
                done = self.runner.run(self.commands.take(f":deploy {args.deploy}"))
                if done.result is not None and done.result.failed:
                    self._told(done.result)
                    return 2
        except Misuse as error:
            print(f"ael repl: {clean(str(error))}", file=sys.stderr)
            return 2
        if args.inputs is not None:
            return self._all(iter(args.inputs))
        lines = Lines(sys.stdin, sys.stdout, sys.stderr)
        if lines.interactive:
            here = "; `:load main.ael` takes the program here" if args.path is None and Path("main.ael").is_file() else ""
            print(f"AEL: `:help` lists the commands, Ctrl-D ends{here}.", file=sys.stderr)
        editing = contextmanager(edited)(self._complete, history=not args.no_history) if lines.interactive else nullcontext()
        with editing:
            return self._all(_inputs(lines))

    def _complete(self, line: str) -> list[str]:
        return completions(self.session, line)

    def _all(self, inputs: Iterator[str]) -> int:
        for text in inputs:
            try:
                ends, failed = self._one(text)
            except KeyboardInterrupt:
                print("interrupted", file=sys.stderr)
                ends, failed = False, True
            sys.stdout.flush()
            if ends:
                break
            if failed and self.args.strict:
                return 1
        return 0

    def _one(self, text: str) -> tuple[bool, bool]:
        """Whether the session ends, and whether the input failed."""
        if kind_of(text) != "command":
            return False, self._told(self.runner.run(self.session.take(text)))
        try:
            answer = self.runner.run(self.commands.take(text))
        except Misuse as error:
            print(clean(str(error)), file=sys.stderr)
            return False, True
        for line in answer.lines:
            print(clean(line))
        return answer.ends, answer.result is not None and self._told(answer.result)

    def _told(self, result: Result) -> bool:
        for line in result.shown:
            if line:
                print(clean(line))
        if result.problems:
            print(render_all(result.problems, colour=use_colour()), file=sys.stderr)
        if result.trouble is not None:
            tell(result.trouble.code, result.trouble.message, *result.trouble.notes)
        if result.outcome is not None and not isinstance(result.outcome, Value):
            self._ended(result.outcome, result)
        return result.failed

    def _ended(self, outcome: Outcome, result: Result) -> None:
        if isinstance(outcome, Faulted) and result.place is not None:
            at = result.place.source.position(result.place.span.start)
            outcome = replace(outcome, place=f"{result.place.source.name}:{at.line}:{at.column}")
        print_outcome(outcome, whole=False)
        if isinstance(outcome, Faulted) and outcome.kind is FaultKind.DENIED and "this session" in outcome.message:
            print("  = `:grant PERMISSION` (or `--grant`) lets this session use it", file=sys.stderr)


def _inputs(lines: Lines) -> Iterator[str]:
    while True:
        try:
            yield lines.next()
        except Interrupted:
            if not lines.interactive:
                raise KeyboardInterrupt from None
        except Ended as ended:
            if ended.left.strip():
                yield ended.left
            return


def _values(words: Sequence[str], signature: Signature, definitions: Definitions) -> Mapping[str, object]:
    return collect(words, None, signature, definitions)
