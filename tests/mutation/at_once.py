"""Guards of calls that are answered as they come in, of follow-ups, and of compensations."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

ONCE = "tests/transports/test_at_once.py::"
FOLLOW = "tests/run/test_follow_up.py::"
COMPENSATE = "tests/lower/test_compensate.py::"

MUTATIONS = (
    Mutation(
        "K42",
        "the host that a request answered at once names",
        "ael/server/connect.py",
        "            self._guard.known_host(headers)\n",
        "            pass\n",
        ONCE + "test_what_is_not_let_in_is_not_answered_at_once_either",
    ),
    Mutation(
        "K42",
        "the size of a body that is answered at once",
        "ael/server/connect.py",
        " or len(body) > self._guard.listen.body:\n",
        ":\n",
        ONCE + "test_a_body_beyond_its_size_is_refused",
    ),
    Mutation(
        "K26",
        "the key of a call that could be answered at once",
        "ael/server/dispatch.py",
        "        if request.key is not None or self.draining or not",
        "        if self.draining or not",
        ONCE + "test_a_key_and_a_follower_have_their_run_as_always",
    ),
    Mutation(
        "K39",
        "the stop of pure code that runs without a task",
        "ael/run/run.py",
        "            return self._here\n",
        "            return False\n",
        ONCE + "test_it_can_be_stopped_where_it_runs",
    ),
    Mutation(
        "K43",
        "the place of a call that is answered at once",
        "ael/server/dispatch.py",
        "        if not self._gate.take(request.caller):\n            return None\n",
        "        self._gate.taken += 1\n        self._gate._count(request.caller, 1)\n",
        ONCE + "test_its_limits_hold",
    ),
    Mutation(
        "K38",
        "the attempts of each turn that follows",
        "ael/run/loop.py",
        "            self._attempts = self._plan.attempts\n            return False, None\n",
        "            return False, None\n",
        FOLLOW + "test_each_turn_has_its_own_attempts_and_one_that_fails_ends_the_node",
    ),
    Mutation(
        "K39",
        "that nothing is undone at the end of a run",
        "ael/lower/compensate.py",
        "        goes_on = build.negate(_cancelled(ending))\n",
        "        goes_on = build.const(True)\n",
        COMPENSATE + "test_nothing_is_begun_at_the_end_of_a_run",
    ),
    Mutation(
        "K26",
        "that a fault of a compensation does not take the place of what is uncertain",
        "ael/lower/compensate.py",
        "        again: list[ast.stmt] = [build.if_(unsure, [ast.Raise(build.name(caught), None)]), ast.Raise(None, None)]\n",
        "        again: list[ast.stmt] = [ast.Raise(None, None)]\n",
        COMPENSATE + "test_what_may_have_taken_effect_is_not_forgotten_for_a_fault_of_one",
    ),
    Mutation(
        "K44",
        "that what decides a failure decides the compensation",
        "ael/check/choosing.py",
        "        chosen = self.choosing(errors, rest[-1] if rest else node)\n",
        "        chosen = self.choosing(0, rest[-1] if rest else node)\n",
        "tests/check_facts/test_strict.py::test_outside_data_does_not_decide_a_call_in_a_node_of_a_strict_agent",
    ),
    Mutation(
        "K44",
        "that a `try` which is not always come to decides by what it passes on",
        "ael/check/flow.py",
        "        self.errors |= self.decided\n        return found\n",
        "        return found\n",
        "tests/check_facts/test_strict.py::test_outside_data_does_not_decide_a_call_in_a_node_of_a_strict_agent",
    ),
)
