"""Services and nodes elsewhere: lost answers, keys, limits, who is let in (`ael/run/placed.py`, `ael/services`, `ael/server`)."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

LOST = "tests/transports/test_lost.py::"
PROTOCOL = "tests/transports/test_protocol.py::"
CONTEXT = "tests/transports/test_context.py::"
PRESSURE = "tests/transports/test_pressure.py::"
RESTART = "tests/transports/test_restart.py::"
NODES = "tests/transports/test_nodes.py::"

MUTATIONS = (
    Mutation(
        "K26",
        "the doubt about a lost answer",
        "ael/run/placed.py",
        "        return not isinstance(fault, Told) and step.sent is not False and fault.kind in LOST_ANSWER",
        "        return False",
        LOST + "test_a_lost_answer",
    ),
    Mutation(
        "K26",
        "the word of the other side",
        "ael/run/placed.py",
        "        return not isinstance(fault, Told) and step.sent",
        "        return step.sent",
        LOST + "test_answers_that_are_none",
    ),
    Mutation(
        "K26",
        "that nothing was sent",
        "ael/run/placed.py",
        '            if fault.details.get("sent") is False:\n                step.sent = False\n            raise',
        "            step.sent = True\n            raise",
        LOST + "test_a_refused_connection_is_known_to_have_done_nothing",
    ),
    Mutation(
        "K34",
        "the retries that are left to what is inside",
        "ael/services/elsewhere.py",
        "        if call.attempts is not None:",
        "        if call.attempts is not None and call.attempts > 1_000:",
        CONTEXT + "test_retries_are_counted_over_both_sides",
    ),
    Mutation(
        "K34",
        "the one owner of retries",
        "ael/run/service.py",
        "        plan.retry = None\n",
        "",
        PROTOCOL + "test_a_server_does_not_try_again_for_its_caller",
    ),
    Mutation(
        "K34",
        "the key of a call",
        "ael/server/dispatch.py",
        "            if known is not None and known.text is not None:\n                return known.whole()",
        "            if known is not None and known.text is None:\n                return known.whole()",
        LOST + "test_a_lost_answer",
    ),
    Mutation(
        "K34",
        "that a key is for one request",
        "ael/server/dispatch.py",
        "            if known is not None and (known.digest, known.method) != (given.digest, request.method):",
        "            if known is not None and known.method != request.method:",
        PROTOCOL + "test_a_key_is_its_callers_own",
    ),
    Mutation(
        "K43",
        "the caller in the name of a key",
        "ael/server/dispatch.py",
        '    return request.caller.tenant, request.caller.name, request.key or ""',
        '    return "", "", request.key or ""',
        PROTOCOL + "test_a_key_is_its_callers_own",
    ),
    Mutation(
        "K43",
        "who asks",
        "ael/server/connect.py",
        "        caller = self._guard.who(headers)\n",
        "        caller = self._guard.local\n",
        PROTOCOL + "test_what_is_not_let_in",
    ),
    Mutation(
        "K42",
        "the host that a request names",
        "ael/server/connect.py",
        "            send = self._guard.from_where(headers, send)\n",
        "",
        PROTOCOL + "test_what_is_not_let_in",
    ),
    Mutation(
        "K42",
        "the size of what was compressed",
        "ael/server/connect.py",
        "        data = decoder.feed(body, most)\n",
        "        data = decoder.feed(body, 100_000_000)\n",
        PROTOCOL + "test_what_is_not_let_in",
    ),
    Mutation(
        "K41",
        "the environment of a process",
        "ael/hosting/placements.py",
        "    return Fleet(pools, told, environment_of(_variables(opened)))",
        "    return Fleet(pools, told, dict(os.environ))",
        RESTART + "test_processes_end_with_their_host_and_get_nothing_that_is_not_theirs",
    ),
    Mutation(
        "K45",
        "the breaker of each operation",
        "ael/services/elsewhere.py",
        "            breaker = live.breakers[call.target] = Breaker(self._clock, self._policy.breaker)\n",
        "            live.breakers = dict.fromkeys(\n"
        '                ("get", "retried"), breaker := Breaker(self._clock, self._policy.breaker)\n            )\n',
        LOST + "test_the_breaker_of_an_operation",
    ),
    Mutation(
        "K45",
        "the refusal of a call that would wait for itself",
        "ael/server/gate.py",
        "        if not wait:\n",
        "        if not wait and self.queue < 0:\n",
        PRESSURE + "test_a_call_that_would_wait_for_itself_is_refused",
    ),
    Mutation(
        "K43",
        "the rights that are left to a node",
        "ael/services/elsewhere.py",
        "        if call.grants is not None:\n",
        "        if call.grants is None:\n",
        NODES + "test_nodes_are_the_same_everywhere",
    ),
    Mutation(
        "K26",
        "whose the doubt about an operation is",
        "ael/run/service.py",
        "        if inside.key == step.key or not self.repeat.can_be_uncertain:\n            return inside\n",
        "        if inside.key:\n            return inside\n",
        "tests/transports/test_endings.py::test_each_ending_is_the_same",
    ),
    Mutation(
        "K26",
        "what a run may call where its service moves to",
        "ael/durable/pinned.py",
        "        cache(lambda entry: frozenset(_called(program, reachable(program, entry, connectors=possible(program))))),",
        "        cache(lambda entry: frozenset(_called(program, reachable(program, entry, deployment.placements, deployment.here)))),",
        "tests/transports/test_moved.py::test_a_run_may_call_what_it_reaches_wherever_that_is",
    ),
)
