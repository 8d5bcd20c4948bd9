"""Running the `test` blocks of a program: scripted models and MCP servers, fresh stores, no key, no network."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ael.data import replace
from ael.host import Host, HostError, open_host
from ael.hosting.models import bind_model
from ael.hosting.secrets import NoSecrets
from ael.lower.unit import CompiledTest
from ael.models.script import Script, ScriptError, parse_script
from ael.models.scripted import ScriptedProvider
from ael.project.knowledge import KnowledgeBinding
from ael.project.program import Opened
from ael.run.bindings import BoundModel, Options
from ael.run.human import NOBODY
from ael.run.outcome import DeclaredError, Faulted, Outcome, Suspended, Unsettled, Value
from ael.run.ports import ApprovalRequest, Decision, ModelProvider, Question
from ael.testing.folder import with_folder
from ael.testing.servers import scripted_servers
from ael.types.canonical import encode
from ael.types.fault import Fault, FaultKind

_NOT_ALLOWED = "std/http.NotAllowed"
"""What `std/http` and `std/web` fail with where an address may not be asked: in a test each of them."""


@dataclass(frozen=True)
class TestResult:
    """How one test ended; `problem` is None when it passed. `seconds` of wall time."""

    __test__ = False

    name: str
    module: str
    file: str
    line: int
    seconds: float
    problem: str | None


def run_tests(
    opened: Opened, chosen: Callable[[str], bool] = lambda name: True, told: Callable[[TestResult], None] = lambda result: None
) -> list[TestResult]:
    """Run the tests whose title is `chosen`, one after the other; `told` hears of each as it ends."""
    # Nobody is asked over the network: `std/http` and `std/web` refuse every host, as without a deployment.
    natives = {topic: bound for topic, bound in opened.deployment.natives.items() if topic not in ("http", "web")}
    natives["knowledge"] = KnowledgeBinding("memory")
    apart = replace(opened.deployment, models={}, stores={}, natives=natives, hosts=frozenset(), tenants={})
    opened = replace(opened, deployment=apart)
    results = []
    for index, test in enumerate(opened.program.tests):
        if chosen(test.name):
            with with_folder(opened) as alone:
                result = _one(alone, index)
            told(result)
            results.append(result)
    return results


def _one(opened: Opened, index: int) -> TestResult:
    spec = opened.program.tests[index]
    source = opened.program.modules[spec.module].tree.source
    start = time.perf_counter()
    servers = scripted_servers(opened.program.tools)

    def script(name: str, turns: Sequence[object]) -> ModelProvider | None:
        tool = opened.program.tools.get(name)
        if tool is None or tool.remote is None:
            return _scripted(name, turns)
        servers[tool.remote.server].script(tool, turns)
        return None

    try:
        # A test calls the program's own providers, wherever a deployment places them.
        here = replace(opened, deployment=replace(opened.deployment, placements={}, here=frozenset()))
        host = open_host(here, models=_unscripted(opened), servers=servers, script=script, approver=_Approves())
        problem = asyncio.run(_run(host, host.unit.tests[index]))
    except HostError as error:
        problem = f"{error.message}"
    return TestResult(spec.name, spec.module, source.name, spec.line, time.perf_counter() - start, problem)


async def _run(host: Host, test: CompiledTest) -> str | None:
    async with host:
        return problem_of(await host.engine.start_test(test, Options(caller="test")).outcome())


def problem_of(outcome: Outcome) -> str | None:
    """Why a test failed, in words; None for one that passed."""
    match outcome:
        case Value():
            return None
        case DeclaredError(error=error, plain=plain):
            told = f"failed with {error.partition('.')[2] or error} {json.dumps(plain, ensure_ascii=False)}"
            return f"{told}\nnobody is asked over the network in a test" if error == _NOT_ALLOWED else told
        case Faulted(kind=FaultKind.ASSERTION_FAILED, message=message):
            return message
        case Faulted(kind=kind, message=message):
            return f"ended with the fault {kind.value}: {message}"
        case Unsettled(operation=operation):
            return f"ended Uncertain: {operation} may or may not have taken effect"
        case Suspended(waits=waits):
            return f"waits for {waits[0].kind} at {waits[0].path}"


def _scripted(model: str, turns: Sequence[object]) -> ModelProvider:
    """The provider that a `script` statement makes."""
    try:
        return ScriptedProvider(parse_script(json.loads(encode(list(turns))), f"script {model.rpartition('.')[2]}"))
    except ScriptError as error:
        raise Fault(FaultKind.MALFORMED, str(error)) from None


def _unscripted(opened: Opened) -> dict[str, BoundModel]:
    """Models that nothing was scripted for: asking one ends the test with a fault that says so. One that the program itself declares to be
    a connector of its own is that connector: a test calls the program's own code."""
    empty = ScriptedProvider(Script(()))
    secrets = NoSecrets(opened.deployment)
    return {
        name: bind_model(opened, spec, secrets)
        if spec.provider in opened.program.provides
        else BoundModel(empty, spec.model or "script", {}, spec.fallback)
        for name, spec in opened.program.models.items()
    }


class _Approves:
    """Tests approve what they call, say yes to what they are asked, and take the first choice."""

    async def decide(self, request: ApprovalRequest) -> Decision:
        match request.question:
            case Question(schema={"properties": {"answer": {"enum": [first, *_]}}}):
                return Decision(True, "test", "", {"answer": first})
            case Question(waits=True, schema={"properties": {"answer": {"type": "string"}}}):
                return Decision(False, NOBODY, "in a test the answer is the first choice, and this question has no choices")
            case _:
                return Decision(True, "test")


def junit(results: Iterable[TestResult]) -> str:
    """The results as JUnit XML."""
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    found = list(results)
    suite = Element("testsuite", name="ael", tests=str(len(found)), failures=str(sum(r.problem is not None for r in found)))
    for result in found:
        case = SubElement(
            suite, "testcase", name=result.name, classname=result.module, file=Path(result.file).as_posix(),
            line=str(result.line), time=f"{result.seconds:.3f}",
        )  # fmt: skip
        if result.problem is not None:
            SubElement(case, "failure", message=result.problem.splitlines()[0]).text = result.problem
    indent(suite)
    return tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
