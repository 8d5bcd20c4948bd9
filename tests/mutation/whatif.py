"""Forks, and what of a run is shown and kept (`ael/durable`, `ael/observe`, `ael/journal/content.py`)."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

FORK = "tests/durable/test_fork.py::"

MUTATIONS = (
    Mutation(
        "K26",
        "the last guard: a call of a fork that is held back begins nevertheless",
        "ael/durable/fork.py",
        "            if entry.state is State.STARTED:\n",
        "            if False:\n",
        FORK + "test_a_call_that_is_held_back_never_begins_whatever_led_there",
    ),
    Mutation(
        "K26",
        "that a recorded call serves once",
        "ael/durable/fork.py",
        "            self._left.remove(found)\n",
        "            pass\n",
        FORK + "test_each_recorded_call_serves_once",
    ),
    Mutation(
        "K26",
        "that what served in a fork takes no record away in a fork of that",
        "ael/durable/fork.py",
        'kept.append(entry._replace(key="", derived=()) if entry.key == _SERVED else entry)',
        "kept.append(entry)",
        "tests/durable/test_fork_changes.py::test_a_fork_of_a_fork_serves_what_was_served",
    ),
    Mutation(
        "K26",
        "that a refused call is answered by what refuses it",
        "ael/durable/fork.py",
        "                self._open.add(entry.path)\n        return self._inner.append(entry)\n",
        "                self._open.add(entry.path)\n                self._inner.append(entry)\n                self._settled(entry)\n"
        "                return None\n        return self._inner.append(entry)\n",
        FORK + "test_a_refused_call_is_answered_so_and_takes_no_record",
    ),
    Mutation(
        "K30",
        "that an approval goes along only with the call that it let run",
        "ael/durable/fork.py",
        'if not path.endswith("/approval") or path in changes or path.removesuffix("/approval") in beginning',
        "if True",
        "tests/durable/test_fork_approval.py::test_an_approval_that_was_given_before_the_step_counts_only_with_its_call",
    ),
    Mutation(
        "K26",
        "that an idempotent extern writes",
        "ael/durable/fork.py",
        "                return compiled.body is None and not compiled.spec.parallel and target not in self.reads\n",
        "                return False\n",
        FORK + "test_what_acts_is_known_from_its_declaration",
    ),
    Mutation(
        "K26",
        "that what runs elsewhere acts",
        "ael/durable/fork.py",
        '        if not self.elsewhere.isdisjoint((target, target.rpartition(".")[0])):\n',
        "        if False:\n",
        FORK + "test_what_runs_elsewhere_acts_since_nothing_of_it_comes_by_this_journal",
    ),
    Mutation(
        "K30",
        "the check that a fork approves nothing that is made for real",
        "ael/durable/forking.py",
        "        if allows(allow, target) or not doers.act(Kind.TOOL, target):\n",
        "        if False:\n",
        "tests/durable/test_fork_approval.py::test_a_fork_decides_no_and_never_yes_for_what_is_made",
    ),
    Mutation(
        "K28",
        "the comparison of a request that is made again with the recorded hash",
        "ael/durable/rehearse.py",
        'if path in asked and asked[path] in ("", one.digest)}',
        "if path in asked}",
        "tests/durable/test_rehearse.py::test_a_turn_without_an_answer_is_shown_and_what_is_bound_otherwise_is_not",
    ),
    Mutation(
        "K26",
        "that a rehearsal gives up what has no answer",
        "ael/durable/rehearse.py",
        "        if entry.state is State.STARTED and entry.path not in self._open:\n",
        "        if False:\n",
        "tests/durable/test_rehearse.py::test_a_rehearsal_acts_on_nothing_even_where_a_call_was_under_way",
    ),
    Mutation(
        "K28",
        "that a rehearsal is shown only where it ends as the run did",
        "ael/durable/rehearse.py",
        '    return row.ending in ("", word_of(outcome)) or ',
        '    return row.ending != "" or ',
        "tests/observe/test_kept_agents.py::test_a_rehearsal_that_ends_otherwise_than_the_run_is_not_shown",
    ),
    Mutation(
        "K27",
        "that only ended runs lose their content",
        "ael/journal/content.py",
        "WHERE state = 'ended' AND ended < ? AND input <> ? ORDER",
        "WHERE started < ? AND input <> ? ORDER",
        "tests/journal/test_content.py::test_what_can_go_on_keeps_its_content",
    ),
    Mutation(
        "K41",
        "the mask of secrets in a run that is shown",
        "ael/observe/shown.py",
        "            return self._masker.value(_plain(value))\n",
        "            return _plain(value)\n",
        "tests/observe/test_shown.py::test_everything_but_secrets",
    ),
)
