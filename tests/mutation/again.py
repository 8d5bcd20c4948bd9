"""Mutations of what a run does again over its journal, and of what it must not: cuts, doubts, fences, approvals."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

GIVEN_UP = "tests/run/test_given_up.py::"
FENCE = "tests/journal/test_fence.py::"
TWICE = "tests/journal/test_twice.py::"

MUTATIONS = (
    Mutation(
        "K26",
        "the doubt that an earlier life recorded",
        "ael/run/call.py",
        "            run.uncertain.setdefault((self.name, digest(arguments)), step.path)\n        stopped",
        "            pass\n        stopped",
        GIVEN_UP + "test_the_same_act_after_a_doubt_needs_a_person_in_every_life",
    ),
    Mutation(
        "K26",
        "the doubt that comes before a failure beside it",
        "ael/run/parallel.py",
        "        raise unsure[0] if unsure else joined(unsettled) if unsettled else failure[0]",
        "        raise failure[0]",
        GIVEN_UP + "test_a_doubt_beside_a_failure_is_what_has_to_be_faced",
    ),
    Mutation(
        "K28",
        "the way of what was given up, over the journal",
        "ael/run/call.py",
        "        return stopped or error\n",
        "        return error\n",
        GIVEN_UP + "test_a_parallel_fails_with_the_same_failure_in_every_life",
    ),
    Mutation(
        "K28",
        "the branches that come as far as they once came",
        "ael/run/parallel.py",
        "                    if replays:\n                        await _caught_up(others)\n",
        "",
        GIVEN_UP + "test_a_parallel_fails_with_the_same_failure_in_every_life",
    ),
    Mutation(
        "K46",
        "the time limit that cut something off in an earlier life",
        "ael/run/node.py",
        "                if stopped.limit != deadline.depth:\n                    raise\n",
        "                raise\n",
        GIVEN_UP + "test_what_was_cut_off_is_cut_off_in_the_same_place_in_every_life",
    ),
    Mutation(
        "K27",
        "the answer to a refusal that was interrupted",
        "ael/run/calls.py",
        "        if last is None or last.state is not State.ANSWERED:",
        "        if last is None:",
        GIVEN_UP + "test_a_refusal_that_was_interrupted_is_answered",
    ),
    Mutation(
        "K39",
        "the answers to what is open when a run ends",
        "ael/run/engine.py",
        "            answer_open(run)\n",
        "            pass\n",
        "tests/durable/test_ended.py::test_a_run_that_is_told_to_end_after_its_worker_died_says_what_nobody_knows",
    ),
    Mutation(
        "K29",
        "the record that went down with the commit before it",
        "ael/journal/writer.py",
        "        error = job.error if job.error is not None or job.lost is None else job.lost()",
        "        error = job.error",
        FENCE + "test_a_record_that_went_down_with_the_commit_before_lets_nothing_be_sent",
    ),
    Mutation(
        "K30",
        "the approval, by the store itself",
        "ael/journal/journal.py",
        "            if asked is not None:\n                check_approved(new.get(asked)",
        "            if asked is None:\n                check_approved(new.get(asked or 0)",
        FENCE + "test_the_store_lets_nothing_begin_that_somebody_was_asked_about_and_did_not_approve",
    ),
    Mutation(
        "K30",
        "the answers of two people, one after the other",
        "ael/journal/runs.py",
        '    db.alone(f"ael answer {run}")\n',
        "",
        TWICE + "test_of_two_people_who_answer_at_once_one_is_told_that_he_came_second",
    ),
    Mutation(
        "K29",
        "the run that was made before the connection broke",
        "ael/journal/database.py",
        "            if not made and tried:\n",
        "            if False:\n",
        TWICE + "test_what_was_committed_before_the_connection_broke_is_done_once",
    ),
    Mutation(
        "K28",
        "the release that began a run",
        "ael/journal/runs.py",
        "    if version > VERSION:\n",
        "    if version > VERSION + 9:\n",
        "tests/journal/test_put_aside.py::test_a_run_of_a_newer_release_is_left_to_it_and_told_with_both_versions",
    ),
    Mutation(
        "K46",
        "the end of what is put off again and again",
        "ael/run/step.py",
        "        if number <= most:\n            self.failed_attempt(number, fault)\n        return number <= most\n",
        "        self.failed_attempt(number, fault)\n        return True\n",
        "tests/run/test_deferral.py::test_who_always_says_later_is_asked_a_bounded_number_of_times",
    ),
    Mutation(
        "K46",
        "the time that stands still while a call is put off",
        "ael/run/call.py",
        "                left = scope.deadline.left(parked=parks)\n",
        "                left = scope.deadline.left()\n",
        "tests/run/test_deferral.py::test_only_the_deadline_goes_on_while_a_call_is_put_off",
    ),
)
