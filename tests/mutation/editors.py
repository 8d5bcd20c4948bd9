"""Guards of what editors and shells are told (`ael/editor`, `ael/cli/completing.py`)."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

COMPLETION = "tests/editors/test_completion.py::"

MUTATIONS = (
    Mutation(
        "K44",
        "that no candidate of a completion steers the terminal",
        "ael/cli/completing.py",
        "        if not value.isprintable():\n",
        "        if False:\n",
        COMPLETION + "test_no_name_of_a_program_steers_the_terminal",
    ),
    Mutation(
        "K13",
        "that a title is a pattern of itself",
        "ael/cli/completing_names.py",
        r'    return re.sub(r"([\\^$.*+?()[\]{}|])", r"\\\1", text)',
        "    return text",
        COMPLETION + "test_titles_are_the_pattern_of_themselves",
    ),
    Mutation(
        "K13",
        "that an option is offered once",
        "ael/cli/completing.py",
        "(action.dest in line.given and not again)",
        "False",
        COMPLETION + "test_an_option_is_offered_once_and_ends_at_two_dashes",
    ),
    Mutation(
        "K52",
        "that a number is read once",
        "ael/editor/pygments.py",
        '(r"\\d[\\d_]*", Number.Integer)',
        '(r"\\d_?", Number.Integer)',
        "tests/editors/test_highlighting.py::test_k52_what_belongs_together_is_read_once",
    ),
    Mutation(
        "K52",
        "that a name is read once",
        "ael/editor/pygments.py",
        '(r"[a-z_]\\w*", Name)',
        '(r"[a-z_]", Name)',
        "tests/editors/test_highlighting.py::test_k52_what_belongs_together_is_read_once",
    ),
)
