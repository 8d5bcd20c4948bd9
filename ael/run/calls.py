"""The calls of one turn: each is checked, run and answered exactly once, on every path, in the order proposed (runtime.md, section 2)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence

from ael.journal.entry import Ending, Kind, State
from ael.run.call import describe
from ael.run.codec import digest, written
from ael.run.events import ToolFinished, ToolStarted
from ael.run.gate import Check, Refusal, bad_arguments, charge_refused, permission, refuses, room, shared_room, unknown_name
from ael.run.offer import Offered
from ael.run.parallel import branches
from ael.run.ports import ProposedCall, ToolAnswer
from ael.run.scope import Scope
from ael.run.step import Step, error_of
from ael.run.tool import Done
from ael.run.turn import cut_text
from ael.types.fault import Failure, Fault, FaultKind, Uncertain
from ael.types.problem import DecodeError

AT_ONCE = 8
"""Calls of `parallel` tools that run beside each other."""
_ERROR_BYTES = 4_096
_ENDS = (FaultKind.CANCELLED, FaultKind.DIVERGED, FaultKind.DEFINITION_CHANGED)
"""Faults of a call that end the node: what the program was checked against does not hold any more (A9.25)."""


class Answered:
    """The answers of a turn, and what ends the node after them, if anything. `done` is the value of the last call that ran well."""

    __slots__ = ("answers", "done", "end", "problems")

    def __init__(self) -> None:
        self.answers: list[ToolAnswer] = []
        self.end: Failure | Fault | Uncertain | None = None
        self.done: Done | None = None
        self.problems: list[Failure | Fault] = []


class Calls:
    """Runs the calls of the turns of one visit."""

    __slots__ = ("_depth", "_offered", "_scope")

    def __init__(self, scope: Scope, depth: int, offered: Mapping[str, Offered]) -> None:
        self._scope = scope
        self._depth = depth
        self._offered = offered

    def refuse_all(self, path: str, calls: Sequence[ProposedCall], text: str, kind: FaultKind, *, count: bool = True) -> Answered:
        """Answer every call of a turn without running any; they count as tool calls while there is room to count."""
        refusal = Refusal(Check.TURN, kind, text)
        result = Answered()
        for index, call in enumerate(calls):
            if count and result.end is None:
                result.end = charge_refused(self._scope)
            result.answers.append(self._refused(f"{path}/call{index + 1}", call, refusal))
        return result

    async def run(self, path: str, calls: Sequence[ProposedCall], only: int | None = None) -> Answered:
        """Check, run and answer the calls. `only`: how many may run (one for `one_call`); the others are refused."""
        result = Answered()
        if len(calls) == 1:
            result.answers.append(await self._one(f"{path}/call1", calls[0], result))
            return result
        answers: list[ToolAnswer | None] = [None] * len(calls)
        index = 0
        while index < len(calls):
            group = [index]
            if only is None and self._beside(calls[index]):
                while index + len(group) < len(calls) and self._beside(calls[index + len(group)]):
                    group.append(index + len(group))
            index += len(group)
            if result.end is not None:
                text = "not run: this step of the program has ended"
                for at in group:
                    answers[at] = self._refused(f"{path}/call{at + 1}", calls[at], Refusal(Check.TURN, FaultKind.CANCELLED, text))
                continue
            if only is not None and group[0] >= only:
                text = "not run: exactly one call is made here"
                refusal = Refusal(Check.TURN, FaultKind.DENIED, text)
                charge_refused(self._scope)
                answers[group[0]] = self._refused(f"{path}/call{group[0] + 1}", calls[group[0]], refusal)
                continue
            if len(group) == 1:
                answers[group[0]] = await self._one(f"{path}/call{group[0] + 1}", calls[group[0]], result)
            else:
                apart = [Calls(self._scope.beside(), self._depth, self._offered) for _ in group]
                parts = [one._part(f"{path}/call{at + 1}", calls[at], result) for one, at in zip(apart, group, strict=True)]
                try:
                    found = await branches(parts, self._scope.run.workers, self._scope.run.clear, AT_ONCE)
                finally:
                    self._scope.joined([one._scope for one in apart])
                for at, answer in zip(group, found, strict=True):
                    answers[at] = answer
        result.answers = [answer for answer in answers if answer is not None]
        return result

    def _beside(self, call: ProposedCall) -> bool:
        offered = self._offered.get(call.name)
        return offered is not None and offered.parallel

    def _part(self, path: str, call: ProposedCall, result: Answered) -> Callable[[], Awaitable[ToolAnswer]]:
        return lambda: self._one(path, call, result)

    async def _one(self, path: str, call: ProposedCall, result: Answered) -> ToolAnswer:
        """One call through the checks in their order, run, and answered. What ends the node is put into `result`, never raised."""
        scope = self._scope
        journal = scope.run.journal
        known = journal.last(path) if journal.continued else None
        if known is not None and known.ending is Ending.REFUSED:
            result.end = result.end or charge_refused(scope)
            return ToolAnswer(call, error_of(known).message, True)  # type: ignore[union-attr]  # a refusal is a fault
        offered = self._offered.get(call.name)
        if offered is None:
            return self._off(path, call, unknown_name(call.name, self._offered), result)
        try:
            arguments = offered.input.proposed(call.arguments)
        except DecodeError as error:
            return self._off(path, call, bad_arguments(error), result)
        refusal = permission(scope, offered)
        if refusal is not None:
            return self._off(path, call, refusal, result)
        refusal = room(scope)
        if refusal is None and scope.run.purse is not None and offered.target != offered.name:
            # A search for tools is no effect, and has no record by which a run over the journal would know that it was counted.
            refusal = await shared_room(scope, path)
        if refusal is not None:
            result.end = result.end or refusal.fault
            return self._refused(path, call, refusal)
        run = scope.run
        if arguments.notes and run.trace is not None:
            notes = [str(note) for note in arguments.notes]
            run.trace.begin("effect", "arguments", path, scope.span).end("value", scope.seen, None, notes=notes)
        started = 0.0
        if run.listening:
            started = run.world.clock.monotonic()
            run.emit(ToolStarted(run.id, path, offered.name))
        try:
            # The text as the model wrote it is the request: it is in the journaled turn, so a replay has the same.
            text = (call.arguments or "").encode()
            done = await offered.run(scope, self._depth, path, arguments.value, text)
        except Uncertain as uncertain:
            result.end = result.end or uncertain
            self._tell(path, offered.name, "uncertain", started, str(uncertain))
            return ToolAnswer(call, f"unknown: {uncertain}", True)
        except (Failure, Fault) as error:
            if isinstance(error, Fault) and error.kind in _ENDS:
                result.end = result.end or error
            result.problems.append(error)
            # What refuses this call itself says what to do; a refusal inside of its body is a fault of it.
            refused = isinstance(error, Fault) and refuses(error, path)
            shown = error.message if refused and isinstance(error, Fault) else told(error)
            word = "refused" if refused else "error" if isinstance(error, Failure) else "fault"
            self._tell(path, offered.name, word, started, shown)
            shown = run.world.masker.text(shown)
            return ToolAnswer(call, cut_text(shown, min(_ERROR_BYTES, max(offered.max_output, 256))), True)
        self._tell(path, offered.name, "value", started, "")
        result.done = done
        return ToolAnswer(call, run.world.masker.text(content(done, offered.max_output)), False)

    def _off(self, path: str, call: ProposedCall, refusal: Refusal, result: Answered) -> ToolAnswer:
        """A call that fails one of the first three checks: refused, counted, and the loop goes on while there is room to count."""
        over = charge_refused(self._scope)
        if over is not None:
            result.end = result.end or over
        result.problems.append(refusal.as_fault(path))
        return self._refused(path, call, refusal)

    def _refused(self, path: str, call: ProposedCall, refusal: Refusal) -> ToolAnswer:
        """Answer without running, and record it so that a run over the journal refuses again."""
        scope = self._scope
        run = scope.run
        text = cut_text(refusal.text, _ERROR_BYTES)
        offered = self._offered.get(call.name)
        # A name that is on no list is the model's word: PostgreSQL takes no NUL in a text.
        target = offered.target if offered is not None else call.name[:120].replace("\0", "\ufffd")
        step = Step(
            run,
            path,
            Kind.TOOL,
            target,
            digest([call.name[:1000], (call.arguments or "")[:10_000]]),
            "",
            scope.last,
        )
        last = run.journal.last(path)
        if last is None or last.state is not State.ANSWERED:
            # What an earlier execution proposed here and never answered is answered now.
            step.state = None if last is None else last.state
            step.propose(None)
            step.answer(
                Ending.REFUSED, {"kind": refusal.kind.value, "message": text, "details": {"check": refusal.check.name.lower()}}
            )
            if run.purse is not None:
                run.purse.note_call()
        if run.trace is not None:
            name = offered.name if offered is not None else call.name[:120]
            span = run.trace.begin("tool", name, path, scope.span)
            span.end("refused", scope.seen, None, check=int(refusal.check), reason=text[:300])
        if run.desk is not None:
            run.desk.refused(target)
        self._tell(path, call.name[:120], "refused", 0.0, text)
        return ToolAnswer(call, text, True)

    def _tell(self, path: str, tool: str, ending: str, started: float, detail: str) -> None:
        run = self._scope.run
        if run.listening:
            seconds = run.world.clock.monotonic() - started if started else 0.0
            run.emit(ToolFinished(run.id, path, tool, ending, seconds, run.world.masker.text(detail)[:300]))


def told(error: Failure | Fault) -> str:
    """An error as a model reads it: never a traceback."""
    if isinstance(error, Fault):
        return f"{error.kind.value}: {error.message}"
    return json.dumps(describe(error), ensure_ascii=False, default=str)


def content(done: Done, max_bytes: int) -> str:
    """A result as a model reads it: raw, within its size; text that is longer is cut with a marker."""
    value = done.value
    shown = cut_text(value, max_bytes) if isinstance(value, str) else done.text.decode()
    if done.edited is not None:
        ran = written(done.edited.arguments).decode()
        shown = f"{done.edited.by} changed the arguments; what ran was {ran}\n{shown}"
    return shown
