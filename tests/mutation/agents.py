"""Agents: what the check proves of edges, and what holds when they are taken (`ael/check/route.py`, `ael/run`)."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

VISITS = "tests/run/test_agent.py::"
PAGE = "tests/test_error_pages.py::test_page"
ROUTE = "ael/check/route.py"
AGENT = "ael/run/agent.py"

MUTATIONS = (
    Mutation(
        "K01",
        "the bound that every way round has",
        ROUTE,
        "    return [group for group in components(following) if len(group) > 1 or group[0] in following[group[0]]]",
        "    return []",
        f"{PAGE}[AEL1305]",
    ),
    Mutation(
        "K01",
        "the count of an edge with `up to`",
        AGENT,
        "        if spec.limit is not None and spec.each is None and taken >= spec.limit:",
        "        if spec.limit is not None and spec.each is None and taken >= 20 * spec.limit:",
        f"{VISITS}test_many_rounds_of_branches_do_not_pile_up",
    ),
    Mutation(
        "K01",
        "the count of the items of an `each`",
        AGENT,
        "        if spec.limit is not None and len(items) > spec.limit:",
        "        if False:",
        f"{VISITS}test_an_edge_carries_no_more_items_than_it_says_and_none_of_too_many",
    ),
    Mutation(
        "K01",
        "the depth of agents in each other",
        AGENT,
        "        if scope.level >= MAX_LEVEL:",
        "        if scope.level >= 4 * MAX_LEVEL:",
        f"{VISITS}test_an_agent_in_itself_ends_at_the_depth_of_agents",
    ),
    Mutation(
        "K26",
        "the key by which a receiver acts once",
        "ael/run/channel.py",
        "        if key in answers:\n            return await self._again(key)\n",
        "",
        "tests/run/test_channel.py::test_a_receiver_acts_once_for_each_key",
    ),
    Mutation(
        "K39",
        "the join that waits for a branch which cannot come",
        ROUTE,
        "            problem = _stuck(found, waiting)",
        "            problem = None",
        f"{PAGE}[AEL1308]",
    ),
    Mutation(
        "K39",
        "the branch that is under way when the finish is reached",
        ROUTE,
        "            if rest or waiting:",
        "            if False:",
        "tests/check/test_route.py::test_a_branch_that_outlives_the_finish",
    ),
    Mutation(
        "K39",
        "the silence of agents that wait for nothing",
        AGENT,
        "            else:\n                raise self._stuck()",
        "            else:\n                return None",
        f"{VISITS}test_a_join_that_nothing_comes_to_is_a_fault_and_no_silence",
    ),
    Mutation(
        "K39",
        "the way back to the beginning after branches",
        AGENT,
        "            if self._live == len(ready):",
        "            if False:",
        f"{VISITS}test_many_rounds_of_branches_do_not_pile_up",
    ),
    Mutation(
        "K39",
        "the room that branches share",
        AGENT,
        "            async with self._room:\n                ready = await self._step(branch)",
        "            ready = await self._step(branch)",
        f"{VISITS}test_branches_of_branches_share_the_room",
    ),
    Mutation(
        "K39",
        "the cancel that no edge meets",
        AGENT,
        "        case Fault(kind=FaultKind.CANCELLED):\n            return False",
        "        case Fault(kind=FaultKind.CANCELLED):\n            return True",
        f"{VISITS}test_no_edge_meets_a_cancel",
    ),
    Mutation(
        "K40",
        "the outputs that are surely there",
        ROUTE,
        "        meant = names if known is None else known & names",
        "        meant = names if known is None else known | names",
        "tests/check/test_route.py::test_what_has_surely_come_is_what_came_on_every_way",
    ),
    Mutation(
        "K44",
        "the marks that are a branch's own",
        AGENT,
        "        ready = [Branch(way.edge, point, value, outputs, scope.beside()) for way in exits]",
        "        ready = [Branch(way.edge, point, value, outputs, scope) for way in exits]",
        f"{VISITS}test_a_branch_bears_the_mark_of_what_it_saw_and_of_nothing_beside_it",
    ),
    Mutation(
        "K44",
        "the marks that meet at a join",
        AGENT,
        "            scope.seen |= branch.scope.seen\n",
        "",
        f"{VISITS}test_a_branch_bears_the_mark_of_what_it_saw_and_of_nothing_beside_it",
    ),
)
