"""A server as a child process (features A9.10, A9.23, B12; fault kinds K22, K23, K24)."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from ael.mcp.endpoint import StdioEndpoint
from ael.mcp.session import ElicitationReply, SessionLimits, open_session
from ael.mcp.stdio import StdioTransport, environment_of
from ael.types.fault import FaultKind
from ael.types.value import Secret
from tests.mcp.support import Heard, call, child, failing, opened, run, texts


def alive(pid: int) -> bool:
    """Whether the process runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def ends(pid: int) -> None:
    """Until the process has ended."""
    for _ in range(500):
        if not alive(pid):
            return
        await asyncio.sleep(0.01)
    pytest.fail("the process still runs")


@pytest.mark.feature("A9.10", "A9.2")
@pytest.mark.parametrize("era", ["old", "new"])
def test_lists_and_calls_in_both_eras(era: str) -> None:
    async def test() -> None:
        async with opened(child(era)) as session:
            assert session.protocol == {"old": "2025-11-25", "new": "2026-07-28"}[era]
            assert [tool["name"] for tool in await session.listing("tools", deadline=20)] == ["echo"]
            assert texts(await call(session, arguments={"text": "grüß dich"})) == ["grüß dich"]
            assert await session.listing("prompts", deadline=20) == ()
            await session.ping(20)

    run(test())


def test_the_environment_of_a_child_is_clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AEL_TEST_TOKEN", "from-the-parent")
    monkeypatch.setenv("NODE_OPTIONS", "--require /tmp/evil.js")

    async def test() -> None:
        given: dict[str, str | Secret] = {"TOKEN": Secret("T", "for-the-child"), "TZ": "UTC"}
        async with opened(child(environment=given, folder=tmp_path)) as session:
            [told] = texts(await call(session, "environment"))
            found = json.loads(told)
            assert found["TOKEN"] == "for-the-child"
            assert found["TZ"] == "UTC"
            assert found["PATH"] == os.environ["PATH"]
            assert not {"AEL_TEST_TOKEN", "NODE_OPTIONS"} & found.keys()
            assert set(found) <= {*environment_of(given), "LC_CTYPE"}
            assert [os.path.realpath(told) for told in texts(await call(session, "folder"))] == [os.path.realpath(tmp_path)]

    run(test())


def test_a_child_leads_a_process_group_of_its_own() -> None:
    async def test() -> None:
        async with opened(child()) as session:
            [told] = texts(await call(session, "pids"))
            pid, group = json.loads(told)
            assert pid == group != os.getpgrp()

    run(test())


@pytest.mark.feature("A9.8")
def test_a_command_that_is_not_there_is_unavailable_and_nothing_was_sent() -> None:
    async def test() -> None:
        where = StdioEndpoint("ael-no-such-command", ("--token", "hidden"))
        problem = await failing(open_session(where, Heard()), FaultKind.UNAVAILABLE, sent=False)
        assert "ael-no-such-command" in problem.message
        assert "hidden" not in problem.message

    run(test())


@pytest.mark.feature("B12", "A9.8")
def test_a_server_that_dies_in_a_call_is_disconnected_with_its_last_words() -> None:
    async def test() -> None:
        async with opened(child()) as session:
            problem = await failing(call(session, "exit"), FaultKind.DISCONNECTED, sent=True)
            assert "exit code 3" in problem.message
            assert "last words" in problem.message
            assert session.closed is not None
            await failing(call(session), FaultKind.DISCONNECTED, sent=False)

    run(test())


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    async def test() -> None:
        problem = await failing(open_session(child(folder=tmp_path / "gone"), Heard()), FaultKind.UNAVAILABLE, sent=False)
        assert "gone` is not there" in problem.message

    run(test())


def test_a_child_that_never_stops_talking_is_left() -> None:
    async def test() -> None:
        async with opened(child(), limits=SessionLimits(unasked=2_000)) as session:
            await failing(call(session, "flood", arguments={"count": 1_000_000}), FaultKind.TOO_LARGE, sent=True)
            assert session.closed is not None

    run(test())


def test_last_words_are_masked_and_bounded() -> None:
    async def test() -> None:
        code = "import os,sys; sys.stderr.write('x' * 100_000 + '\\x1b[31m key ' + os.environ['KEY']); sys.exit(4)"
        where = StdioEndpoint("python3", ("-c", code), {"KEY": Secret("KEY", "s3cr3t-value")})
        problem = await failing(open_session(where, Heard(), connect=30), FaultKind.DISCONNECTED)
        assert "s3cr3t-value" not in problem.message
        assert "[secret]" in problem.message
        assert "\x1b" not in problem.message
        assert len(problem.message) < 500

    run(test())


@pytest.mark.feature("B12")
def test_twenty_pending_calls_are_all_woken_when_the_server_dies() -> None:
    async def test() -> None:
        async with opened(child()) as session:
            waiting = [asyncio.ensure_future(call(session, "hang")) for _ in range(20)]
            await asyncio.sleep(0)
            await failing(call(session, "exit"), FaultKind.DISCONNECTED)
            for one in waiting:
                await failing(one, FaultKind.DISCONNECTED, sent=True)

    run(test())


def test_a_server_that_closes_its_output_is_disconnected() -> None:
    async def test() -> None:
        async with opened(child()) as session:
            await failing(call(session, "shut"), FaultKind.DISCONNECTED, sent=True)

    run(test())


@pytest.mark.feature("B12")
def test_a_server_that_stops_reading_ends_every_call_within_its_deadline() -> None:
    async def test() -> None:
        async with opened(child()) as session:
            deaf = asyncio.ensure_future(call(session, "deaf", 0.6))
            await asyncio.sleep(0.1)
            big = {"text": "x" * 1_000_000}
            # The first fills the pipe, so the server may see it; the second never leaves.
            first = asyncio.ensure_future(call(session, arguments=big, deadline=0.3))
            second = asyncio.ensure_future(call(session, arguments=big, deadline=0.3))
            await failing(first, FaultKind.TIMEOUT, sent=True)
            await failing(second, FaultKind.TIMEOUT, sent=False)
            await failing(deaf, FaultKind.TIMEOUT, sent=True)

    run(test())


def test_a_line_that_never_went_out_whole_was_not_sent() -> None:
    async def test() -> None:
        async with opened(child()) as session:
            assert isinstance(session.transport, StdioTransport)
            pid = session.transport.pid
            assert pid is not None
            deaf = asyncio.ensure_future(call(session, "deaf"))
            await asyncio.sleep(0.1)
            big = asyncio.ensure_future(call(session, arguments={"text": "x" * 1_000_000}))
            await asyncio.sleep(0.1)
            os.killpg(pid, 9)
            await failing(deaf, FaultKind.DISCONNECTED, sent=True)
            await failing(big, FaultKind.DISCONNECTED, sent=False)

    run(test())


@pytest.mark.feature("A9.8")
def test_a_call_that_is_cancelled_returns_at_once_and_the_server_is_told() -> None:
    async def test() -> None:
        async with opened(child()) as session:
            waiting = asyncio.ensure_future(call(session, "hang"))
            await asyncio.sleep(0.05)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            [told] = texts(await call(session, "cancelled"))
            assert len(json.loads(told)) == 1

    run(test())


def test_a_late_reply_is_dropped() -> None:
    async def test() -> None:
        heard = Heard()
        async with opened(child(), heard) as session:
            await failing(call(session, "slow", 0.1, arguments={"seconds": 0.3}), FaultKind.TIMEOUT, sent=True)
            assert texts(await call(session)) == ["hello"]
            await heard.something.wait()
            assert ("debug", "a reply to no request of this side was skipped") in heard.lines

    run(test())


# --- noise and malformed messages (K24)


def test_a_banner_before_the_first_message_is_skipped() -> None:
    async def test() -> None:
        heard = Heard()
        async with opened(child("banner"), heard) as session:
            assert texts(await call(session)) == ["hello"]
            await heard.something.wait()
            assert [line for line in heard.lines if "no message" in line[1]]

    run(test())


def test_noise_between_messages_is_skipped_within_a_cap() -> None:
    async def test() -> None:
        async with opened(child()) as session:
            assert texts(await call(session, "noise", arguments={"lines": 900})) == ["noisy"]
            await failing(call(session, "noise", arguments={"lines": 1_100}), FaultKind.MALFORMED, sent=True)
        await failing(open_session(child("all noise"), Heard(), connect=30), FaultKind.MALFORMED)

    run(test())


@pytest.mark.feature("A9.8", "B12")
@pytest.mark.parametrize(
    "reply",
    [
        '{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":{"x":NaN}}}',
        '{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":{"x":-Infinity}}}',
        '{"jsonrpc":"2.0","id":ID,"result":{"a":{"b":{"c":{"d":{"e":1,"e":2}}}}}}',
        '{"jsonrpc":"2.0","id":ID,"result":{"a":1,"\\u0061":2}}',
        '{"jsonrpc":"2.0","id":ID,"result":{"text":"\\ud800"}}',
        '{"jsonrpc":"2.0","id":ID,"result":' + "[" * 4_096,
        '{"jsonrpc":"2.0","result":{"id":1,"x":[{"id":2}],"y":1e999},"id":ID}',
        '{"jsonrpc":"2.0","id":ID}',
        '{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"x"}}',
        '{"jsonrpc":"2.0","id":ID,"result":[]}',
        '{"jsonrpc":"2.0","id":ID,"error":"bad"}',
        '{"id":ID,"result":{"content":[]}}',
        '{"jsonrpc":"1.0","id":ID,"result":{"content":[]}}',
    ],
)  # fmt: skip
def test_a_malformed_reply_ends_its_call_at_once_and_the_session_lives(reply: str) -> None:
    async def test() -> None:
        async with opened(child()) as session:
            other = asyncio.ensure_future(call(session, "hang", 3.0))
            await asyncio.sleep(0)
            await failing(call(session, "raw", arguments={"text": reply}), FaultKind.MALFORMED, sent=True)
            assert not other.done()
            assert texts(await call(session)) == ["hello"]
            other.cancel()
            await asyncio.wait([other])

    run(test())


def test_a_message_that_cannot_be_attributed_ends_all_that_may_have_been_meant() -> None:
    async def test() -> None:
        async with opened(child()) as session:
            other = asyncio.ensure_future(call(session, "hang"))
            await asyncio.sleep(0)
            broken = '{"jsonrpc":"2.0","result":{"x":1e999}}'
            await failing(call(session, "raw", arguments={"text": broken}), FaultKind.MALFORMED, sent=True)
            await failing(other, FaultKind.MALFORMED, sent=True)
            assert texts(await call(session)) == ["hello"]

    run(test())


def test_what_nobody_waits_for_is_skipped() -> None:
    """A reply to nobody, and whatever is wrong with a notification or a request of the server, end no call (langgenius/dify#41482)."""

    async def test() -> None:
        async with opened(child()) as session:
            for reply in (
                '{"jsonrpc":"2.0","id":99,"result":{}}',
                '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}',
                '{"jsonrpc":"2.0","id":null,"result":{}}',
                '{"jsonrpc":"2.0","id":null,"result":"x"}',
                '{"jsonrpc":"2.0","id":null,"method":"ping"}',
                '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":NaN}}',
                '{"jsonrpc":"2.0","method":"notifications/message","params":[]}',
            ):
                waiting = asyncio.ensure_future(call(session, "raw", 5.0, arguments={"text": reply}))
                await asyncio.sleep(0)
                assert texts(await call(session)) == ["hello"]
                assert not waiting.done()
                waiting.cancel()
                await asyncio.wait([waiting])

    run(test())


def test_a_batch_of_replies_is_taken_apart() -> None:
    async def test() -> None:
        async with opened(child()) as session:
            batch = '[{"jsonrpc":"2.0","method":"notifications/unknown"},{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}]'
            assert (await call(session, "raw", arguments={"text": batch})).parts == ()

    run(test())


@pytest.mark.feature("A9.8", "B12")
def test_a_line_longer_than_allowed_is_too_large_for_its_call_only() -> None:
    async def test() -> None:
        limits = SessionLimits(message=256 * 1024)
        async with opened(child(), limits=limits) as session:
            assert len(texts(await call(session, "long", arguments={"pieces": 3}))[0]) == 3 * 65_536
            await failing(call(session, "long", arguments={"pieces": 40}), FaultKind.TOO_LARGE, sent=True)
            assert texts(await call(session)) == ["hello"]
            await failing(call(session, "endless"), FaultKind.TOO_LARGE, sent=True)

    run(test())


# --- progress, notices, questions


@pytest.mark.feature("B12")
def test_progress_holds_off_the_idle_limit_and_never_the_deadline() -> None:
    async def test() -> None:
        told: list[tuple[float, float | None, str]] = []
        async with opened(child()) as session:
            arguments = {"count": 8, "pause": 0.1}
            answer = await call(session, "progress", arguments=arguments, idle=0.5, on_progress=lambda *facts: told.append(facts))
            assert texts(answer) == ["there"]
            assert told == [(float(at), 9.0, "") for at in range(8)]
            problem = await failing(call(session, "progress for ever", 0.5, idle=0.3), FaultKind.TIMEOUT, sent=True)
            assert "before the deadline" in problem.message

    run(test())


def test_silence_within_the_idle_limit_is_no_failure_and_beyond_it_is() -> None:
    async def test() -> None:
        async with opened(child()) as session:
            assert texts(await call(session, "slow", arguments={"seconds": 0.3}, idle=10)) == ["late"]
            problem = await failing(call(session, "hang", idle=0.1), FaultKind.TIMEOUT, sent=True)
            assert "no sign of life" in problem.message

    run(test())


def test_a_thousand_notices_and_a_slow_listener_hold_nothing_up() -> None:
    class Slow(Heard):
        def log(self, level: str, text: str) -> None:
            super().log(level, text)
            raise RuntimeError("a listener that fails is nobody's failure")

    async def test() -> None:
        heard = Slow()
        async with opened(child(), heard) as session:
            assert texts(await call(session, "flood", arguments={"count": 1_000})) == ["flooded"]
            assert texts(await call(session)) == ["hello"]
            assert "tools" in heard.changes
            assert len(heard.changes) < 1_000

    run(test())


def test_a_server_that_asks_a_person_gets_the_answer() -> None:
    async def test() -> None:
        heard = Heard(ElicitationReply("accept", {"sure": True}))
        schema = {"type": "object", "properties": {"sure": {"type": "boolean"}, "why": {"type": "string", "default": "because"}}}
        asked = {"method": "elicitation/create", "params": {"message": "Sure?", "requestedSchema": schema}}
        async with opened(child(), heard, elicitation=True) as session:
            [told] = texts(await call(session, "ask", arguments=asked))
            assert json.loads(told) == {"action": "accept", "content": {"sure": True, "why": "because"}}
            assert [question.message for question in heard.questions] == ["Sure?"]

    run(test())


def test_the_time_a_person_takes_is_no_idleness_of_the_server() -> None:
    async def test() -> None:
        heard = Heard(ElicitationReply("decline"))
        heard.before = lambda: asyncio.sleep(0.5)
        asked = {"method": "elicitation/create", "params": {"message": "Sure?", "requestedSchema": {"type": "object"}}}
        async with opened(child(), heard, elicitation=True) as session:
            [told] = texts(await call(session, "ask", arguments=asked, idle=0.2))
            assert json.loads(told) == {"action": "decline"}

    run(test())


@pytest.mark.parametrize("method", ["elicitation/create", "sampling/createMessage", "roots/list", "no/such"])
def test_what_was_not_offered_is_answered_with_method_not_found(method: str) -> None:
    async def test() -> None:
        heard = Heard()
        async with opened(child(), heard) as session:
            [told] = texts(await call(session, "ask", arguments={"method": method}))
            assert json.loads(told)["code"] == -32601
            assert heard.questions == []
            [told] = texts(await call(session, "ask", arguments={"method": "ping"}))
            assert json.loads(told) == {}

    run(test())


# --- beginning and end


def test_a_server_that_ends_at_the_first_word_of_the_newer_protocol_is_begun_anew() -> None:
    async def test() -> None:
        async with opened(child("dies at discover")) as session:
            assert session.protocol == "2025-11-25"
            assert texts(await call(session)) == ["hello"]

    run(test())


def test_a_server_that_ignores_what_it_does_not_know_is_spoken_to_in_the_older_protocol() -> None:
    async def test() -> None:
        async with opened(child("silent"), limits=SessionLimits(probe=0.2)) as session:
            assert session.protocol == "2025-11-25"

    run(test())


@pytest.mark.feature("A9.23", "B12")
def test_closing_ends_the_child_and_what_it_started_even_if_they_ignore_the_signal() -> None:
    async def test() -> None:
        async with AsyncExitStack() as stack:
            pids = []
            for _ in range(5):
                session = await stack.enter_async_context(opened(child("stubborn"), limits=SessionLimits(closing=0.5)))
                [pid], [grandchild] = texts(await call(session, "pids")), texts(await call(session, "grandchild"))
                pids += [json.loads(pid)[0], int(grandchild)]
        for pid in pids:
            await ends(pid)

    run(test())


@pytest.mark.feature("A9.23")
@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 0, 4, 1, 3)])
def test_servers_can_be_closed_in_any_order_and_beside_each_other(order: tuple[int, ...]) -> None:
    async def test() -> None:
        sessions = await asyncio.gather(*(open_session(child(), Heard(), connect=30) for _ in range(5)))
        pids = [json.loads(texts(await call(session, "pids"))[0])[0] for session in sessions]
        for at in order[:3]:
            await sessions[at].close()
        await asyncio.gather(*(sessions[at].close() for at in order[3:]))
        await asyncio.gather(*(session.close() for session in sessions))
        for pid in pids:
            await ends(pid)

    run(test())


def test_closing_wakes_who_waits() -> None:
    async def test() -> None:
        async with opened(child()) as session:
            waiting = asyncio.ensure_future(call(session, "hang"))
            await asyncio.sleep(0.05)
        await failing(waiting, FaultKind.DISCONNECTED, sent=True)

    run(test())


@pytest.mark.feature("B12")
def test_connecting_can_be_cancelled_and_leaves_nothing() -> None:
    async def test() -> None:
        opening = asyncio.ensure_future(open_session(child("silent"), Heard()))
        await asyncio.sleep(0.2)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening

    run(test())


def test_a_server_that_is_not_ready_in_time_is_a_timeout() -> None:
    async def test() -> None:
        where = StdioEndpoint("python3", ("-c", "import time; time.sleep(60)"))
        await failing(open_session(where, Heard(), connect=0.3), FaultKind.TIMEOUT)

    run(test())
