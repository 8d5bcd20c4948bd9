"""MCP servers while a program runs: what is compared, connections, answers, breakers, questions (`ael/run/remote.py`, `ael/mcp`)."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

RUN = "tests/run/test_remote.py::"
CONNECTING = "tests/mcp_run/test_connecting.py::"
DEFINITIONS = "tests/mcp_run/test_definitions.py::"
LIMITS = "tests/mcp_run/test_limits.py::"
BREAKER = "tests/mcp_run/test_breaker.py::"
QUESTIONS = "tests/mcp_run/test_elicitation.py::"

MUTATIONS = (
    Mutation(
        "K21",
        "the comparison before a model is asked",
        "ael/run/loop.py",
        "        if self._plan.servers:\n            await self._attach(path)",
        "        if not self._plan.servers:\n            await self._attach(path)",
        RUN + "test_a_changed_definition_ends_a_node_before_its_first_model_call",
    ),
    Mutation(
        "K21",
        "the comparison before a call from code",
        "ael/run/call.py",
        "        if self.prepares:\n            await self._prepared(scope, step)",
        "        if not self.prepares:\n            await self._prepared(scope, step)",
        RUN + "test_a_changed_definition_refuses_a_call_from_code_before_it_is_sent",
    ),
    Mutation(
        "K21",
        "the comparison of digests",
        "ael/mcp/manifest.py",
        "        elif digest_of(now) != one.sha256:",
        "        elif not digest_of(now):",
        DEFINITIONS + "test_a_changed_definition_is_refused_with_a_readable_difference_before_anything_is_sent",
    ),
    Mutation(
        "K21",
        "the second look after a change was told",
        "ael/mcp/lane.py",
        "        if any(what in (kind, _LISTS[kind]) for kind in self._uses.kinds):\n            self._compared_at = None",
        "        if not self._uses.kinds:\n            self._compared_at = None",
        DEFINITIONS + "test_a_change_during_a_run_is_compared_before_the_next_call_and_outside_of_the_handler",
    ),
    Mutation(
        "K21",
        "the end of a node whose tool has changed",
        "ael/run/calls.py",
        "_ENDS = (FaultKind.CANCELLED, FaultKind.DIVERGED, FaultKind.DEFINITION_CHANGED)",
        "_ENDS = (FaultKind.CANCELLED, FaultKind.DIVERGED)",
        RUN + "test_a_definition_that_changes_during_a_node_ends_it",
    ),
    Mutation(
        "K22",
        "the look at whether a session has died",
        "ael/mcp/lane.py",
        "        if held is None or held.session.closed is not None or self._outdated():",
        "        if held is None or self._outdated():",
        CONNECTING + "test_a_dead_session_is_replaced_for_the_next_call_and_the_definitions_are_compared_again",
    ),
    Mutation(
        "K22",
        "the end of connecting when nobody waits any more",
        "ael/mcp/lane.py",
        "                if not task.done():\n                    task.cancel()\n                    self._opening = None",
        "                if not task.done():\n                    self._opening = None",
        CONNECTING + "test_connecting_that_hangs_ends_at_the_callers_deadline_and_is_given_up",
    ),
    Mutation(
        "K22",
        "the bound of closing",
        "ael/mcp/lane.py",
        "        async with asyncio.timeout(CLOSING):\n            await session.close()",
        "        await session.close()",
        CONNECTING + "test_a_session_that_does_not_end_is_left",
    ),
    Mutation(
        "K23",
        "the new session for one that is lost while it is listed",
        "ael/mcp/lane.py",
        "            if fresh or not lost:",
        "            if fresh or lost:",
        CONNECTING + "test_a_lost_session_found_while_listing_is_opened_again_once",
    ),
    Mutation(
        "K23",
        "the limit around a session that does not keep its own",
        "ael/mcp/remote.py",
        "            async with asyncio.timeout(seconds if work.ask is not None else seconds + _GRACE) as limit:",
        "            async with asyncio.timeout(None) as limit:",
        LIMITS + "test_a_session_that_does_not_keep_its_deadline_is_cut_off",
    ),
    Mutation(
        "K25",
        "the rule that an error wins",
        "ael/run/remote.py",
        "        if answer.is_error:",
        "        if answer.is_error and answer.structured is not None:",
        RUN + "test_is_error_wins_and_is_the_word_of_the_server",
    ),
    Mutation(
        "K25",
        "the check of a result from the journal",
        "ael/run/tool.py",
        "            return written(self.output.encode(value))\n        except DecodeError as error:",
        "            return written(value)\n        except DecodeError as error:",
        RUN + "test_a_replayed_result_has_to_fit_its_type",
    ),
    Mutation(
        "K26",
        "the difference between what was sent and what was not",
        "ael/run/remote.py",
        "    return step.sent is not False and fault.kind in LOST_ANSWER",
        "    return fault.kind in LOST_ANSWER",
        RUN + "test_what_never_left_is_a_plain_fault",
    ),
    Mutation(
        "K26",
        "the doubt about an answer that was lost",
        "ael/run/remote.py",
        "    return step.sent is not False and fault.kind in LOST_ANSWER",
        "    return step.sent is False and fault.kind in LOST_ANSWER",
        RUN + "test_what_the_server_may_have_seen_is_uncertain_for_an_effect",
    ),
    Mutation(
        "K40",
        "the one call at a time that may be asked",
        "ael/mcp/remote.py",
        "        async with lane.asking:\n",
        "        async with asyncio.Lock():\n",
        QUESTIONS + "test_a_question_reaches_the_person_of_the_one_call_that_may_be_asked",
    ),
    Mutation(
        "K43",
        "the tenant and the caller in the key of a connection",
        "ael/mcp/remote.py",
        "        key = (tenant, caller)\n",
        '        key = ("", "")\n',
        CONNECTING + "test_tenants_and_callers_never_share_one",
    ),
    Mutation(
        "K44",
        "the taint of a server's result",
        "ael/run/tool.py",
        "        return frozenset({remote.source})",
        "        return frozenset()",
        RUN + "test_results_are_tainted_with_their_tool_in_trace_and_journal",
    ),
    Mutation(
        "K45",
        "the one probe at a time",
        "ael/run/breaker.py",
        "            if self._probing:\n                return Open",
        "            if not self._probing and self._good > 9:\n                return Open",
        BREAKER + "test_one_probe_at_a_time_and_a_failed_one_opens_it_again",
    ),
    Mutation(
        "K45",
        "the difference between a refusal and a failure",
        "ael/mcp/remote.py",
        '    return "bad" if kind in _BAD and not refused else "neither"',
        '    return "bad" if kind in _BAD or refused else "neither"',
        LIMITS + "test_what_is_not_the_servers_failure_does_not_trip_the_breaker",
    ),
    Mutation(
        "K45",
        "the breaker of each tool",
        "ael/mcp/remote.py",
        "        key = (spec.kind, spec.wire)\n",
        '        key = (spec.kind, "")\n',
        LIMITS + "test_the_breaker_of_one_tool_leaves_the_others_alone",
    ),
)
