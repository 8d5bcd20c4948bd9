"""Mutations of what a program may ask of the world: hosts, hops, headers, handles, and questions to people."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

HTTP = "tests/stdlib_net/test_http.py::"
WEB = "tests/stdlib_net/test_web.py::"
HUMAN = "tests/stdlib_net/test_human.py::"

MUTATIONS = (
    Mutation(
        "K42",
        "the list of hosts that comes before anything else",
        "ael/net/reach.py",
        "    if not allowed.allows(host, port or",
        "    if allowed is None and not allowed.allows(host, port or",
        HTTP + "test_what_is_not_listed_is_not_asked",
    ),
    Mutation(
        "K42",
        "the dot in front of a domain",
        "ael/net/reach.py",
        'bare.endswith(f".{domain}")',
        "bare.endswith(domain)",
        HTTP + "test_what_is_not_listed_is_not_asked",
    ),
    Mutation(
        "K42",
        "the ports of a host that is listed without one",
        "ael/net/reach.py",
        "        if port not in _USUAL:",
        "        if port in ():",
        HTTP + "test_what_is_not_listed_is_not_asked",
    ),
    Mutation(
        "K42",
        "the check of every hop of a redirect",
        "ael/net/visit.py",
        "read_place(joined(place, location), self.listed, allowed, upgrade=ask.upgrade)",
        "read_place(joined(place, location), self.listed, Reach(public=True), upgrade=ask.upgrade)",
        WEB + "test_an_open_redirect_of_a_listed_host_leads_nowhere",
    ),
    Mutation(
        "K42",
        "the headers that stay with their origin",
        "ael/net/visit.py",
        "            if place.endpoint.origin != origin:",
        "            if place.endpoint.origin == '':",
        HTTP + "test_nothing_meant_for_one_origin_goes_to_another",
    ),
    Mutation(
        "K42",
        "the bound of an answer",
        "ael/net/visit.py",
        "            max_bytes=ask.max_bytes,",
        "            max_bytes=1 << 40,",
        HTTP + "test_what_is_longer_than_the_deployment_allows_is_too_large",
    ),
    Mutation(
        "K42",
        "the number of redirects",
        "ael/net/visit.py",
        "            if hops > MAX_HOPS:",
        "            if hops > 20:",
        HTTP + "test_redirects_end",
    ),
    Mutation(
        "K41",
        "the credentials that are the deployment's to send",
        "ael/natives/http.py",
        "            if names_credential(name):",
        "            if names_credential(low[:0]):",
        HTTP + "test_a_header_that_is_not_the_programs_is_not_sent",
    ),
    Mutation(
        "K26",
        "the status that does not say if it took effect",
        "ael/natives/http.py",
        "            if status == 408 or status >= 500:",
        "            if status == 599:",
        HTTP + "test_a_lost_answer_to_what_must_not_be_repeated_is_uncertain",
    ),
    Mutation(
        "K26",
        "the answer that is too large to what must not be repeated",
        "ael/natives/http.py",
        "        case NetKind.TOO_LARGE if repeated:",
        "        case NetKind.TOO_LARGE:",
        HTTP + "test_a_lost_answer_to_what_must_not_be_repeated_is_uncertain",
    ),
    Mutation(
        "K42",
        "the handle that no model can make",
        "ael/natives/web.py",
        "        if not hmac.compare_digest(",
        "        if self is None and not hmac.compare_digest(",
        WEB + "test_only_what_a_search_found_is_opened",
    ),
    Mutation(
        "K42",
        "the run that a handle is for",
        "ael/natives/web.py",
        'f"{key}\\0{call.run}"',
        'f"{key}\\0"',
        WEB + "test_a_handle_is_good_for_its_run_wherever_that_goes_on",
    ),
    Mutation(
        "K30",
        "the answer that fits what was asked for",
        "ael/run/human.py",
        "    if problem is not None:",
        "    if problem == '':",
        HUMAN + "test_what_answers_a_question_approves_nothing_and_the_other_way_round",
    ),
    Mutation(
        "K30",
        "the one field of an answer",
        "ael/run/human.py",
        "    more = sorted(given.keys() - {ANSWER})",
        "    more = sorted(given.keys() - given.keys())",
        HUMAN + "test_what_answers_a_question_approves_nothing_and_the_other_way_round",
    ),
)
