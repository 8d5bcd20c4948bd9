"""Guards of what looks through texts and values from outside: patterns, paths, distances (`ael/types`, `ael/lower/natives`)."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

JSON = "tests/stdlib/test_json.py::"

MUTATIONS = (
    Mutation(
        "K13",
        "that a pattern takes no way that leads nowhere",
        "ael/types/pattern_find.py",
        "            if number == _ACCEPT or found.bit & viable:\n",
        "            if number == _ACCEPT or found.bit:\n",
        "tests/types/test_pattern_find.py::test_what_the_pattern_prefers_is_found",
    ),
    Mutation(
        "K13",
        "how much work the distance of two texts may be",
        "ael/lower/natives/text.py",
        "    if len(a) * len(b) > _PAIRS_MAX:\n",
        "    if False:\n",
        "tests/stdlib/test_text.py::test_a_distance_is_bounded_by_what_it_takes",
    ),
    Mutation(
        "K12",
        "that true is not the number 1",
        "ael/types/json_path.py",
        "    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:\n        return a is b\n",
        "",
        JSON + "test_the_comparisons_of_rfc_9535",
    ),
    Mutation(
        "K13",
        "indexes with zeros in front",
        "ael/lower/natives/json.py",
        '_INDEX = re.compile(r"0|[1-9][0-9]{0,15}", re.ASCII)',
        '_INDEX = re.compile(r"[0-9]{1,16}", re.ASCII)',
        JSON + "test_an_index_has_one_form",
    ),
    Mutation(
        "K13",
        "how deep a value may be taken apart",
        "ael/lower/natives/json.py",
        "    if depth > _DEPTH_MAX:\n",
        "    if False:\n",
        JSON + "test_values_that_are_too_deep_are_a_fault",
    ),
)
