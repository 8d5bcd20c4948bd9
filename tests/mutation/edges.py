"""Edges elsewhere: what is delivered again, where a visit or a call is, and that one that began is not begun again."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

EDGES = "tests/transports/test_edges.py::"
LOST = "tests/transports/test_edges_lost.py::"
MOVED = "tests/transports/test_edges_moved.py::"
CALLS = "tests/transports/test_moved.py::"

MUTATIONS = (
    Mutation(
        "K26",
        "that a delivery whose answer was lost is not made again for what must not be done twice",
        "ael/run/delivery.py",
        "    return twice or step.sent is False",
        "    return True",
        LOST + "test_a_lost_answer_is_asked_for_again_under_its_key",
    ),
    Mutation(
        "K34",
        "the word of the receiver",
        "ael/run/delivery.py",
        "    if isinstance(fault, Told) or fault.kind",
        "    if fault.kind",
        LOST + "test_what_the_receiver_ends_with_is_its_word",
    ),
    Mutation(
        "K34",
        "the number of deliveries",
        "ael/run/delivery.py",
        "                if failed >= DELIVERIES.attempts",
        "                if failed > DELIVERIES.attempts",
        LOST + "test_a_receiver_that_stays_away_is_told",
    ),
    Mutation(
        "K26",
        "that a receiver without room has not begun",
        "ael/run/delivery.py",
        '            if fault.details.get("began") is False:',
        '            if fault.details.get("began") is True:',
        EDGES + "test_a_receiver_that_has_no_room_holds_its_sender_back",
    ),
    Mutation(
        "K34",
        "that a full line is waited for",
        "ael/services/elsewhere.py",
        "sent=False, began=False, retry_after=0.1",
        "sent=False, retry_after=0.1",
        LOST + "test_a_line_that_is_full_holds_its_senders_back",
    ),
    Mutation(
        "K26",
        "that what began here is not begun elsewhere",
        "ael/run/placed_node.py",
        'run.journal.last(f"{path}{THERE}") is None and run.began(path)',
        'run.journal.last(f"{path}{THERE}") is None and not path',
        MOVED + "test_what_began_in_the_process_goes_on_there",
    ),
    Mutation(
        "K26",
        "that what began elsewhere is not begun here",
        "ael/run/node.py",
        "                plan = self.place(run, path) if run.journal.continued else self",
        "                plan = self",
        MOVED + "test_what_began_elsewhere_is_not_done_again_here",
    ),
    Mutation(
        "K34",
        "the place of an edge before that of its node",
        "ael/types/agent.py",
        "    return own if own is not None or any(name in here for name in names) else placements.get(node)",
        "    return own if own is not None else placements.get(node)",
        EDGES + "test_the_place_of_an_edge_goes_before_that_of_its_node",
    ),
    Mutation(
        "K26",
        "that a call which was sent is not made here",
        "ael/run/call.py",
        "            moved = step.elsewhere and self.place is None",
        "            moved = False",
        CALLS + "test_a_call_that_was_sent_is_not_made_here",
    ),
    Mutation(
        "K26",
        "that a call which began here is not sent away",
        "ael/run/placed.py",
        "        if open_yet and self.moved is not None and scope.run.began(step.path):",
        "        if open_yet and self.moved is not None and not step.path:",
        CALLS + "test_a_call_that_had_begun_here_goes_on_here",
    ),
)
