"""Served runs that are kept, and streams of them: guards of rights, keys, decisions and content."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

_APPROVAL = "tests/server/test_kept_approval.py::"
_KEPT = "tests/server/test_kept.py::"
_STREAM = "tests/server/test_stream.py::"
_RIGHTS = "tests/durable/test_rights.py::"

MUTATIONS = (
    Mutation(
        "K27",
        "the caller's layer in the record of its run",
        "ael/durable/rights.py",
        '        kept["layers"] = {who: layer.form() for who, layer in layers.items() if layer is not None}\n',
        '        kept["layers"] = {}\n',
        f"{_RIGHTS}test_whoever_takes_the_run_applies_what_its_caller_may_do",
    ),
    Mutation(
        "K27",
        "the withdrawal of a caller who is not named any more",
        "ael/durable/rights.py",
        "    return replace(options, caller_layer=Layer(kept.name, ()))\n",
        "    return options\n",
        f"{_RIGHTS}test_a_later_word_of_the_deployment_only_takes_away",
    ),
    Mutation(
        "K27",
        "the search for the run of a key",
        "ael/server/kept.py",
        "        row = await self._store.find(watch.name) if watch.name else None\n        if row is None:\n",
        '        row = None\n        watch.name = ""\n        if row is None:\n',
        f"{_KEPT}test_the_same_key_gives_the_recorded_answer_from_another_server",
    ),
    Mutation(
        "K28",
        "the comparison of a keyed call with the run of its key",
        "ael/server/kept.py",
        "        return _call_of(header) == _call_of(row.header)\n",
        "        return True\n",
        f"{_APPROVAL}test_a_state_fits_only_its_caller_tool_and_arguments",
    ),
    Mutation(
        "K30",
        "the question about who may decide",
        "ael/server/kept.py",
        "                if asked is not None and not self._people.may(asked, request.caller.name):\n",
        "                if False:\n",
        f"{_APPROVAL}test_only_members_of_the_role_are_asked_and_decide",
    ),
    Mutation(
        "K30",
        "the mark of the question in a state",
        "ael/server/kept.py",
        "if mark(one) == marked), None)",
        "), None)",
        f"{_APPROVAL}test_a_state_fits_only_its_caller_tool_and_arguments",
    ),
    Mutation(
        "K27",
        "the life of a keyed run after its client",
        "ael/server/kept.py",
        "        if watch.request.key is None and self._watches.get(watch.name) == [watch]:\n",
        "        if self._watches.get(watch.name) == [watch]:\n",
        f"{_KEPT}test_a_client_that_goes_away_finds_its_run_by_its_key",
    ),
    Mutation(
        "K27",
        "the life of a parked run after its client",
        "ael/server/kept.py",
        "            if row is not None and (parked or row.state is not RunState.PARKED):\n",
        "            if row is not None:\n",
        f"{_KEPT}test_a_parked_run_survives_its_client",
    ),
    Mutation(
        "K41",
        "the names that a model made up",
        "ael/server/stream.py",
        "        shown = line.kind is not Kind.TOOL or line.target in self.tools\n",
        "        shown = True\n",
        f"{_STREAM}test_a_name_that_a_model_made_up_is_content",
    ),
    Mutation(
        "K41",
        "what a deployment says of its bindings",
        "ael/durable/decide.py",
        '        if at and kind == "approval":\n            found.append(("approval", place))\n',
        "        if at:\n            found.append((kind, place))  # type: ignore[arg-type]\n",
        f"{_STREAM}test_what_a_deployment_says_of_its_bindings_is_no_content_of_a_stream",
    ),
    Mutation(
        "K43",
        "the tenant of a run that is followed",
        "ael/server/desk.py",
        "        if row is None or row.header.tenant != caller.tenant:\n            raise _Refused(404",
        "        if row is None:\n            raise _Refused(404",
        f"{_STREAM}test_a_state_is_told_without_content_and_another_tenants_run_is_not_there",
    ),
    Mutation(
        "K35",
        "the time of a listener that does not read",
        "ael/server/stream.py",
        "                    async with asyncio.timeout(self.slow):\n                        await send(piece)\n",
        "                    await send(piece)\n",
        f"{_STREAM}test_a_listener_that_does_not_read_is_dropped",
    ),
    Mutation(
        "K29",
        "all that waits in one piece of work",
        "ael/journal/journal.py",
        "            while waiting and not (alone and taken):\n",
        "            while waiting and len(taken) < 512 and not (alone and taken):\n",
        "tests/journal/test_many.py::test_more_records_than_fit_a_batch_are_written_before_the_newest_counts_as_written",
    ),
)
