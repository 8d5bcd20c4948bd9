"""Mutations of what tests promise: a crash is one, no snapshot is made unseen, sessions hold no secrets, changes are seen."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

DESK = "tests/testing/test_desk.py::"
SNAPSHOTS = "tests/testing/test_snapshots.py::"
SESSIONS = "tests/testing/test_sessions.py::"
WATCH = "tests/cli/test_watch.py::"

MUTATIONS = (
    Mutation(
        "K27",
        "a killed process that records nothing more",
        "ael/testing/desk.py",
        "        self.journal.dead = True\n        run.cancel",
        "        run.cancel",
        DESK + "test_what_holds",
    ),
    Mutation(
        "K28",
        "what a test did to its run, done once over a crash",
        "ael/testing/desk.py",
        "        self._done[path] = value\n",
        "",
        DESK + "test_what_holds",
    ),
    Mutation(
        "K28",
        "the same answer of a node where it is passed again",
        "ael/testing/answers.py",
        "        turn = self._taken.get(path)",
        "        turn = None",
        DESK + "test_what_holds",
    ),
    Mutation(
        "K27",
        "a crash that has to come",
        "ael/testing/runner.py",
        "                return problem_of(outcome) or desk.unmet",
        "                return problem_of(outcome)",
        DESK + "test_what_does_not_hold_is_told",
    ),
    Mutation(
        "K28",
        "no snapshot made on a build machine",
        "ael/testing/snapshot.py",
        "(before is None and not self.file.ci)",
        "before is None",
        SNAPSHOTS + "test_on_a_build_machine_none_is_made",
    ),
    Mutation(
        "K41",
        "secrets masked in snapshots",
        "ael/testing/snapshot.py",
        "text = mask(rendered(value))",
        "text = rendered(value)",
        SNAPSHOTS + "test_secrets_are_masked_before_they_are_kept",
    ),
    Mutation(
        "K41",
        "a recorded turn without the secrets that it repeats",
        "ael/models/replay.py",
        "            turn = self._provider.masked(turn)\n",
        "            pass\n",
        SESSIONS + "test_a_session_is_recorded_with_a_key_and_played_without",
    ),
    Mutation(
        "K40",
        "snapshots of several processes, one after the other",
        "ael/testing/snapshot.py",
        "            self.kept = _read(self.path)\n            now",
        "            now",
        SNAPSHOTS + "test_processes_that_write_at_once_lose_nothing",
    ),
    Mutation(
        "K51",
        "a file that a command wrote itself, which is no change",
        "ael/cli/watching.py",
        "            watched.wrote(_acted(do, changed))",
        "            _acted(do, changed)",
        WATCH + "test_a_file_is_formatted_when_it_is_saved",
    ),
)
