"""Who hears what of a call, what a server counts, and what a client sends again (`ael/run/progress.py`, `ael/server`, `ael/embed`)."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

PROGRESS = "tests/transports/test_progress.py::"
OUTSIDE = "tests/transports/test_progress_outside.py::"
METRICS = "tests/server/test_metrics.py::"
CLIENT = "tests/embed/test_client.py::"

MUTATIONS = (
    Mutation(
        "K41",
        "what is the operator's in the events of a call",
        "ael/run/progress.py",
        "    if form.hidden and not inside:\n        return None\n",
        "",
        PROGRESS + "test_a_stream_by_hand",
    ),
    Mutation(
        "K41",
        "a secret that a model says in pieces",
        "ael/run/masker.py",
        "        keep = max(",
        "        keep = 0 * max(",
        PROGRESS + "test_a_stream_by_hand",
    ),
    Mutation(
        "K44",
        "what is no event of a peer",
        "ael/run/progress.py",
        "    if not isinstance(value, str) or len(value) > _NAME:",
        "    if not isinstance(value, str):",
        OUTSIDE + "test_what_is_no_event_is_left_out",
    ),
    Mutation(
        "K44",
        "the place of what a peer tells",
        "ael/run/placed.py",
        "            if not isinstance(told, str) or not told.startswith(within):",
        "            if not isinstance(told, str):",
        OUTSIDE + "test_what_other_servers_answer",
    ),
    Mutation(
        "K26",
        "the end of a stream",
        "ael/services/following.py",
        '    raise NetError(NetKind.DISCONNECTED, "the stream of the answer has no end", sent=True, received=True)',
        '    return Followed(200, b\'{"result": "x"}\', None, None, None)',
        OUTSIDE + "test_a_stream_without_an_end_is_a_lost_answer",
    ),
    Mutation(
        "K35",
        "the room of a reader that does not keep up",
        "ael/server/progress.py",
        "        full = len(self._held) >= (self.most // 2 if crossed.content else self.most)",
        "        full = False",
        PROGRESS + "test_a_watch_keeps_a_bounded_number",
    ),
    Mutation(
        "K35",
        "the time of a reader that does not read",
        "ael/server/progress.py",
        "            async with asyncio.timeout(self.slow):\n                await pump",
        "            async with asyncio.timeout(None):\n                await pump",
        PROGRESS + "test_a_reader_that_does_not_read_holds_nothing_up",
    ),
    Mutation(
        "K43",
        "whose the metrics are",
        "ael/server/sides.py",
        "                if self.scrapers is not None:\n                    guard.known(self.scrapers, headers)\n",
        "",
        METRICS + "test_metrics_are_the_operators",
    ),
    Mutation(
        "K43",
        "whose a kept run is",
        "ael/server/sides.py",
        "(row.header.tenant, row.header.caller) != (caller.tenant, caller.name)",
        "row.header.tenant != caller.tenant",
        METRICS + "test_a_caller_follows_its_own_kept_runs",
    ),
    Mutation(
        "K43",
        "who may read what is served",
        "ael/server/sides.py",
        '            case ["contract"] if self.contract is not None:\n                guard.who(headers)\n',
        '            case ["contract"] if self.contract is not None:\n',
        CLIENT + "test_what_cannot_be_opened",
    ),
    Mutation(
        "K43",
        "whose the turns of a model are",
        "ael/run/run.py",
        "        for follower in self._near if own else ():",
        "        for follower in self._near:",
        METRICS + "test_what_runs_elsewhere_is_counted_by_whose_it_is",
    ),
    Mutation(
        "K44",
        "the labels of metrics",
        "ael/server/metrics.py",
        "tool=tool if tool in self._tools else OTHER",
        "tool=tool",
        METRICS + "test_names_from_outside_are_no_labels",
    ),
    Mutation(
        "K26",
        "what a client sends again",
        "ael/embed/line.py",
        "            return lost, 0.0 if asked.repeatable or not sent else None",
        "            return lost, 0.0",
        CLIENT + "test_an_answer_that_is_none_leaves_open_what_was_done",
    ),
    Mutation(
        "K26",
        "the doubt of a client about a lost answer",
        "ael/embed/client.py",
        "            case _ if answer.lost and not asked.repeatable:",
        "            case _ if answer.lost and asked.repeatable:",
        CLIENT + "test_an_answer_that_is_none_leaves_open_what_was_done",
    ),
    Mutation(
        "K34",
        "the key of a client's call",
        "ael/embed/line.py",
        '{"idempotency-key": asked.key, ',
        '{"idempotency-key": asked.key + str(left), ',
        CLIENT + "test_a_lost_answer_is_asked_for_again_only_where_that_does_no_harm",
    ),
    Mutation(
        "K42",
        "a token that would go in the clear",
        "ael/embed/line.py",
        "    if not (endpoint.tls or plain or host in _LOOPBACK):",
        "    if not (endpoint.tls or plain or host):",
        CLIENT + "test_what_cannot_be_opened",
    ),
)
