"""What a language server's features hold to: another name changes no meaning, others' words form nothing, half-written code has a tree."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

FEATURES = "tests/lsp_features::"

MUTATIONS = (
    Mutation(
        "C2",
        "the check of the program that a rename would make",
        "ael/editor/features/rename.py",
        "    verify(snapshot, edits, servers)\n",
        "    del servers\n",
        FEATURES + "test_what_cannot_be_is_said",
    ),
    Mutation(
        "C2",
        "the comparison of what names mean after a rename",
        "ael/editor/features/rename_check.py",
        "            _same(before, collected, name, file)\n",
        "            pass\n",
        FEATURES + "test_what_cannot_be_is_said",
    ),
    Mutation(
        "C2",
        "the refusal to rename in files of others",
        "ael/editor/features/rename.py",
        "    if not file.own:\n",
        "    if not file:\n",
        FEATURES + "test_a_file_of_others_is_not_changed",
    ),
    Mutation(
        "C2",
        "the signs that make a server's words mere text",
        "ael/editor/features/markdown.py",
        '    return _SPECIAL.sub(r"\\\\\\1", whole)\n',
        "    return whole\n",
        FEATURES + "test_text_of_others_is_escaped",
    ),
    Mutation(
        "C2",
        "the moving of names with their declaration",
        "ael/editor/features/names.py",
        "    return found if base == start else _moved(found, start - base)\n",
        "    return found\n",
        FEATURES + "test_offsets_follow_a_declaration_that_moves",
    ),
    Mutation(
        "C2",
        "the leaving out of a line that does not parse before the cursor",
        "ael/editor/features/cursor.py",
        "        for start, end in made.bad:\n",
        "        for start, end in ():\n",
        FEATURES + "test_what_is_offered",
    ),
    Mutation(
        "C2",
        "the bound of a completion's items",
        "ael/editor/features/items.py",
        "for one in found[:MAX_ITEMS]]",
        "for one in found]",
        FEATURES + "test_the_answer_is_bounded_and_says_so",
    ),
)
