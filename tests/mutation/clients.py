"""Guards of generated clients."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

CLIENT = "tests/clients/test_python.py::"

TYPESCRIPT = "tests/clients/test_typescript.py::"

MUTATIONS = (
    Mutation(
        "K26",
        "that a failure after the connection stood is not taken for one before",
        "ael/clients/runtime.ts",
        "if (!answered && unconnected(",
        "if (",
        TYPESCRIPT + "test_a_user_in_node_sees_every_ending_typed",
    ),
    Mutation(
        "K47",
        "the look whether a client knows every error of a method",
        "ael/embed/client.py",
        "            if short not in classes:\n",
        "            if short not in classes and not classes:\n",
        CLIENT + "test_another_version_of_the_program_is_told_before_a_call",
    ),
    Mutation(
        "K26",
        "that a call which is awaited twice goes out once",
        "ael/embed/typed.py",
        "        if self._work is None:\n            call",
        "        if True:\n            call",
        CLIENT + "test_a_call_goes_out_once_and_what_is_lost_is_uncertain",
    ),
    Mutation(
        "K10",
        "that a default is the program's own",
        "ael/embed/typed.py",
        " if value is not OMITTED}",
        "}",
        CLIENT + "test_names_that_are_words_of_python_and_defaults",
    ),
)
