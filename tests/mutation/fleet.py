"""Mutations of what workers do: heartbeats, draining, runs that cannot go on, stores in trouble."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

HEART = "tests/durable/test_heart.py::"
DRAIN = "tests/durable/test_drain.py::"
REFUSED = "tests/durable/test_refused.py::"
CRASH = "tests/journal/test_crash.py::"
TROUBLE = "tests/journal/test_trouble.py::"
DAMAGE = "tests/journal/test_damage.py::"

MUTATIONS = (
    Mutation(
        "K39",
        "the end of a run where nothing of it is kept any more",
        "ael/run/run.py",
        "        with suppress(Exception):  # a run ends where",
        "        with suppress(ZeroDivisionError):  # a run ends where",
        HEART + "test_a_run_that_is_told_to_end_does_where_nothing_is_kept_any_more",
    ),
    Mutation(
        "K29",
        "the lease that a beat extends",
        "ael/journal/runs.py",
        "    until = db.ticks() + lease\n",
        "    until = db.ticks()\n",
        "tests/journal/test_store.py::test_a_heartbeat_extends_the_lease_and_brings_a_cancel",
    ),
    Mutation(
        "K27",
        "the journal that keeps nothing of what is cut off",
        "ael/durable/worker.py",
        "            held.journal.hand_back()\n",
        "",
        DRAIN + "test_what_has_a_key_is_sent_again_under_it_by_the_next_worker",
    ),
    Mutation(
        "K27",
        "the giving back of a run that was cut off",
        "ael/durable/execute.py",
        "            if isinstance(lost, HandedBack):\n                await self.store.release(name, epoch)\n",
        "            if isinstance(lost, HandedBack):\n",
        DRAIN + "test_what_has_none_is_uncertain_for_the_next_worker",
    ),
    Mutation(
        "K27",
        "the giving back of a run that was claimed and not begun",
        "ael/durable/worker.py",
        "            if self._stopping:\n                await execution",
        "            if False:\n                await execution",
        DRAIN + "test_a_run_that_was_claimed_and_not_begun_is_given_back",
    ),
    Mutation(
        "K26",
        "what a person has still to settle, whoever refused the run",
        "ael/durable/decide.py",
        '    return "; ".join([*(part for part in row.waits.split("; ") if part.startswith(_UNCERTAIN)), more])',
        "    return more",
        REFUSED + "test_what_is_uncertain_can_be_settled_after_a_worker_refused_the_run",
    ),
    Mutation(
        "K29",
        "the putting aside of a damaged run",
        "ael/journal/runs.py",
        "        except Damaged as error:\n",
        "        except ZeroDivisionError as error:\n",
        REFUSED + "test_a_damaged_run_is_put_aside_and_holds_up_nobody",
    ),
    Mutation(
        "K29",
        "the look at what comes behind a run that was put aside",
        "ael/journal/runs.py",
        "            del queues[tenant]  # it was put aside",
        "            pass  # it was put aside",
        REFUSED + "test_a_damaged_run_is_put_aside_and_holds_up_nobody",
    ),
    Mutation(
        "K40",
        "the worker that goes on after a defect in one run",
        "ael/durable/worker.py",
        "        except Exception as error:\n",
        "        except StoreError as error:\n",
        REFUSED + "test_a_defect_in_one_run_stops_no_worker",
    ),
    Mutation(
        "K29",
        "the clock of leases that nobody sets",
        "ael/journal/sqlite.py",
        "        return self._ticks()",
        "        return self._clock()",
        CRASH + "test_a_clock_that_jumps_changes_no_lease",
    ),
    Mutation(
        "K29",
        "the end of all leases when the machine is started anew",
        "ael/journal/sqlite.py",
        "        self.change(\"UPDATE ael_run SET lease = 0 WHERE state = 'running'\")\n",
        "",
        CRASH + "test_a_machine_that_was_started_anew_has_no_leases",
    ),
    Mutation(
        "K27",
        "the claims whose commit was not heard of",
        "ael/journal/database.py",
        "            mine = runs.regain(db, owner, before)\n",
        "            mine: list[runs.Claimed] = []\n",
        TROUBLE + "test_a_claim_whose_commit_was_not_heard_of_is_had_all_the_same",
    ),
    Mutation(
        "K29",
        "the file that is cut off within its first page",
        "ael/journal/sqlite.py",
        "        refuse_stump(path)\n",
        "",
        DAMAGE + "test_a_file_cut_at_any_byte_is_refused",
    ),
)
