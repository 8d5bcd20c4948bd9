"""The studio: guards of who may talk to it, of what was shown, and of what is read."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

_GUARD = "tests/studio/test_guard.py::"
_API = "tests/studio/test_api.py::"
_AGAIN = "tests/studio/test_again.py::"

MUTATIONS = (
    Mutation(
        "K43",
        "the end of an address that was used",
        "ael/studio/guard.py",
        "        self.token = secret()\n        self.told(self.token)\n",
        "        self.told(self.token)\n",
        f"{_GUARD}test_the_address_opens_it_once_and_another_one_is_told",
    ),
    Mutation(
        "K43",
        "the look at the host of a request",
        "ael/studio/guard.py",
        "        if len(hosts) != 1 or _bare(hosts[0]) not in _LOCAL:\n",
        "        if len(hosts) != 1:\n",
        f"{_GUARD}test_nobody_else_reads",
    ),
    Mutation(
        "K43",
        "the origin of what is to be done",
        "ael/studio/guard.py",
        '        if any(one.lower() != f"http://{host}" for one in origins) or (change and len(origins) != 1):\n',
        "        if change and len(origins) > 1:\n",
        f"{_GUARD}test_nobody_else_does_anything",
    ),
    Mutation(
        "K43",
        "the cookie of a request",
        "ael/studio/guard.py",
        "        if not self.known(headers):\n",
        "        if change and not self.known(headers):\n",
        f"{_GUARD}test_nobody_else_reads",
    ),
    Mutation(
        "K30",
        "the comparison of what is decided with what was shown",
        "ael/studio/act.py",
        '    if _text(body, "digest") != asked.entry.digest:\n',
        '    if not _text(body, "digest"):\n',
        f"{_API}test_a_decision_is_for_exactly_what_was_shown",
    ),
    Mutation(
        "K30",
        "the look at edited arguments before the approval is used up",
        "ael/studio/act.py",
        "            fits(await _program(desk), asked, edited)\n",
        "            pass\n",
        f"{_API}test_a_decision_is_for_exactly_what_was_shown",
    ),
    Mutation(
        "K41",
        "the record that content is read",
        "ael/studio/desk.py",
        "            await self.store.read_by(run, self.user, what)\n",
        "",
        f"{_API}test_that_content_is_read_is_recorded_and_metadata_is_not",
    ),
    Mutation(
        "K41",
        "the evidence policy in front of the input of a run",
        "ael/studio/step.py",
        "        shown = None if seen.show is None else seen.show(seen.input)\n",
        "        shown = seen.input\n",
        f"{_API}test_the_deployment_says_what_is_shown",
    ),
    Mutation(
        "K30",
        "the look at who may decide now",
        "ael/studio/act.py",
        "    await desk.program.now()\n    asked = await find(",
        "    asked = await find(",
        f"{_AGAIN}test_who_was_taken_off_the_list_does_not_decide",
    ),
    Mutation(
        "K41",
        "the look for a mask in arguments that are sent",
        "ael/studio/act.py",
        "            if MASK in str(edited) and desk.masker.value(asked.arguments) != asked.arguments:\n",
        "            if False:\n",
        f"{_AGAIN}test_a_masked_argument_is_not_sent_as_its_mask",
    ),
)
