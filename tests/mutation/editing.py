"""Guards of the language server: places, newness, and what may be kept after an edit."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

PLACES = "tests/lsp/test_positions.py::"
SESSION = "tests/lsp/test_session.py::"
AGAIN = "tests/lsp/test_again.py::"

MUTATIONS = (
    Mutation(
        "K51",
        "two units of UTF-16 for a character outside of the first plane",
        "ael/editor/positions.py",
        '(2 if char > "\\uffff" else 1)',
        "1",
        PLACES + "test_utf_16",
    ),
    Mutation(
        "K51",
        "the end of a line in front of its line end",
        "ael/editor/positions.py",
        'text[start:end].rstrip("\\r\\n")',
        "text[start:end]",
        PLACES + "test_utf_16",
    ),
    Mutation(
        "K51",
        "the error for a request of an older version",
        "ael/editor/session.py",
        "        if self._changed.get(path, 0) > arrived:\n            raise Modified\n",
        "        return\n",
        SESSION + "test_an_answer_is_of_the_newest_version",
    ),
    Mutation(
        "K51",
        "the end of an analysis whose program has changed",
        "ael/editor/session.py",
        "        def stop() -> None:\n            if active.wanted != stamp:\n                raise Superseded\n",
        "        def stop() -> None:\n            return\n",
        SESSION + "test_an_analysis_of_what_has_changed_is_given_up",
    ),
    Mutation(
        "K51",
        "the look at a body that was silent of a name",
        "ael/check/again.py",
        "        return not names.isdisjoint(unknown)\n",
        "        return False\n",
        AGAIN + "test_a_name_that_means_nothing_is_told_of_where_it_stands_now",
    ),
    Mutation(
        "K51",
        "the look at bodies when something that they see has changed",
        "ael/check/again.py",
        "self._modules.get(checker.module.name) if usable[0] else None",
        "self._modules.get(checker.module.name)",
        AGAIN + "test_what_others_say_of_themselves_counts",
    ),
    Mutation(
        "K51",
        "the declaration behind an edit that has to be what it was",
        "ael/syntax/relex.py",
        "    if last < len(pieces) and not _same_end(old, pieces[last - 1], begins[last - 1] + by, part, start):\n        return None\n",
        "",
        AGAIN + "test_a_declaration_that_swallows_the_next",
    ),
)
