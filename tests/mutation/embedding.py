"""Python around a program: whose word counts, what a closed session leaves, and what is never done twice (`ael/embed`)."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

EMBED = "tests/embed::"

MUTATIONS = (
    Mutation(
        "K26",
        "the doubt about an operation of Python whose reply was lost",
        "ael/run/provided.py",
        "        return fault.kind in LOST_REPLY",
        "        return False",
        EMBED + "test_an_operation_of_python_that_breaks_is_uncertain_where_it_must_not_be_repeated",
    ),
    Mutation(
        "K26",
        "the handing back of kept runs when a session is closed",
        "ael/embed/session.py",
        "                one.held.journal.hand_back()",
        "                pass",
        EMBED + "test_a_closed_session_leaves_its_kept_runs_to_the_next",
    ),
    Mutation(
        "K26",
        "the look for a run of this id that is under way",
        "ael/embed/session.py",
        "        here = self._under_way.get(run)\n",
        "        here = None\n",
        EMBED + "test_a_request_that_comes_twice_at_once_is_one_run",
    ),
    Mutation(
        "K30",
        "the role, where a callback decides",
        "ael/embed/approver.py",
        "        return not_a_member(request, decision.by, self._members) or decision",
        "        return decision",
        EMBED + "test_a_callback_decides_within_its_role",
    ),
    Mutation(
        "K39",
        "the cancel of a run whose task was cancelled",
        "ael/embed/session.py",
        '            run.cancel("the caller was cancelled")\n            await run.settled()\n',
        "",
        EMBED + "test_a_task_that_is_cancelled_cancels_its_run",
    ),
    Mutation(
        "K43",
        "the tenant, where a run is asked for by its id",
        "ael/embed/kept.py",
        "        if found is None or tenant not in (None, found.header.tenant):",
        "        if found is None:",
        EMBED + "test_an_approval_that_nobody_gives_parks_the_run_and_another_session_goes_on",
    ),
    Mutation(
        "K43",
        "the comparison of tenant and caller, where an id of a run is there already",
        "ael/embed/kept.py",
        "        if self != other:",
        "        if self[:2] != other[:2]:",
        EMBED + "test_an_id_stands_for_one_run",
    ),
    Mutation(
        "K26",
        "the word for an argument that was refused before its call",
        "ael/embed/function.py",
        '                raise Fault(FaultKind.BAD_ARGUMENTS, f"`{name}` is refused: {what}", final=True) from None',
        "                raise",
        EMBED + "test_a_class_that_refuses_an_argument_does_so_before_the_call",
    ),
)
