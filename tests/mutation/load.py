"""Load and injected faults: keys that outlive their answers, what is cut off in the middle, what finds no room (`ael/server`)."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

KEYS = "tests/load/test_keys.py::"
ENDING = "tests/load/test_ending.py::"
GATE = "tests/load/test_gate.py::"

MUTATIONS = (
    Mutation(
        "K26",
        "the keys that are spent",
        "ael/server/dispatch.py",
        "            if self._forgotten(request):\n",
        "            if self._forgotten(request) and self.draining:\n",
        KEYS + "test_a_key_outlives_its_answer",
    ),
    Mutation(
        "K26",
        "that a fault of what is not repeated stands",
        "ael/server/dispatch.py",
        "        return self.final or (method.once and self.run is not None and not self.idle)",
        "        return self.final",
        KEYS + "test_a_fault_of_what_is_not_repeated_stands",
    ),
    Mutation(
        "K34",
        "that what found no room may come again",
        "ael/server/dispatch.py",
        "        return self.final or (method.once and self.run is not None and not self.idle)",
        "        return self.final or (method.once and self.run is not None)",
        KEYS + "test_a_fault_of_what_is_not_repeated_stands",
    ),
    Mutation(
        "K26",
        "the doubt about what was cut off inside",
        "ael/server/ending.py",
        "    lost = _loss(given, key, inside=cut)\n",
        "    lost = _loss(given, key, inside=False)\n",
        ENDING + "test_what_is_cut_off_inside_a_node_is_in_doubt",
    ),
    Mutation(
        "K26",
        "the same for a tool",
        "ael/server/answer.py",
        "            for one in lost if isinstance(lost, list) else ():\n",
        "            for one in lost if isinstance(lost, tuple) else ():\n",
        ENDING + "test_a_tool_that_was_cut_off_says_what_is_in_doubt",
    ),
    Mutation(
        "K26",
        "that the doubt about a tool stands",
        "ael/server/once.py",
        "        stands = final(outcome) or (must and not idle(outcome))\n",
        "        stands = final(outcome)\n",
        "tests/server/test_once.py::test_what_must_not_be_done_twice_is_in_doubt_once_its_client_left",
    ),
    Mutation(
        "K45",
        "the word to connections that are too many",
        "ael/server/guard.py",
        "        if CROWDED in scope:\n",
        "        if CROWDED in scope and self.closed:\n",
        "tests/server/test_hostile.py::test_more_connections_than_the_limit_are_turned_away",
    ),
    Mutation(
        "K39",
        "the turn that came to somebody who was gone",
        "ael/server/gate.py",
        "            elif turn in self._waiting:\n",
        "            else:\n",
        GATE + "test_a_turn_that_comes_to_somebody_who_just_left",
    ),
    Mutation(
        "K39",
        "the bound of what keys take",
        "ael/server/keys.py",
        "len(self._known) > KEPT or self._bytes > ROOM",
        "len(self._known) > KEPT",
        KEYS + "test_the_memory_of_keys_is_bounded",
    ),
    Mutation(
        "K26",
        "the word that nothing was done where there was no room",
        "ael/server/connect.py",
        "    if refused.status != 503:\n",
        "    if refused.status > 0:\n",
        "tests/load/test_floods.py::test_a_server_with_too_many_connections_says_that_nothing_was_done",
    ),
)
