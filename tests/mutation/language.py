"""Language tools: nesting, source text, comments, circles and cascades (`ael/source.py`, `ael/syntax`, `ael/check`)."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

SYNTAX = "tests/syntax::"
CHECK = "tests/check::"

MUTATIONS = (
    Mutation(
        "K48",
        "the cap on nested brackets",
        "ael/syntax/lexer.py",
        '                if value in "([{":\n                    if len(stack) >= MAX_NESTING:',
        '                if value in "([{":\n                    if len(stack) >= 10**9:',
        SYNTAX + "test_nesting_has_a_cap",
    ),
    Mutation(
        "K48",
        "the cap on nested interpolations",
        "ael/syntax/lexer.py",
        "            elif group == _QUOTE:\n                if len(stack) >= MAX_NESTING:",
        "            elif group == _QUOTE:\n                if len(stack) >= 10**9:",
        SYNTAX + "test_nesting_has_a_cap",
    ),
    Mutation(
        "K48",
        "the cap on the depth of a tree",
        "ael/syntax/depth.py",
        "        if depth > MAX_TREE:",
        "        if depth > 10**9:",
        SYNTAX + "test_chains_have_a_cap",
    ),
    Mutation(
        "K48",
        "the cap on nested types in the check",
        "ael/check/types.py",
        "        if self._depth > _MAX_DEPTH:",
        "        if self._depth > 10**9:",
        CHECK + "test_a_type_nested_too_deep_is_told_once",
    ),
    Mutation(
        "K49",
        "the byte order mark that is passed over",
        "ael/syntax/lexer.py",
        '        at = line_start = 1 if text.startswith("\\ufeff") else 0',
        "        at = line_start = 0",
        SYNTAX + "test_a_byte_order_mark_does_not_matter",
    ),
    Mutation(
        "K49",
        "the lines that a lone CR and CRLF end",
        "ael/source.py",
        'if char == "\\n" or (char == "\\r" and text[index + 1 : index + 2] != "\\n"):',
        'if char == "\\n" or char == "\\r":',
        SYNTAX + "test_columns_are_the_same_with_any_line_end",
    ),
    Mutation(
        "K49",
        "the refusal of marks that change the direction of text",
        "ael/syntax/characters.py",
        "        found += _first(_BIDI, text)\n",
        "        pass\n",
        SYNTAX + "test_direction_marks_are_refused_everywhere",
    ),
    Mutation(
        "K49",
        "the place of a string without an end, which is its opener",
        "ael/syntax/lexer.py",
        '        self.problem("AEL0003", f"this {what} has no end", start, start + width, note)',
        '        self.problem("AEL0003", f"this {what} has no end", end, end, note)',
        SYNTAX + "test_what_is_never_closed_is_told_where_it_opens_and_costs_no_neighbour",
    ),
    Mutation(
        "K49",
        "the search for the next declaration after an open block string",
        "ael/syntax/lexer.py",
        "            width, end = 3, _next_declaration(text, at if at < len(text) else start + 3)",
        "            width, end = 3, len(text)",
        SYNTAX + "test_what_is_never_closed_is_told_where_it_opens_and_costs_no_neighbour",
    ),
    Mutation(
        "K50",
        "the comments before a token that is passed over",
        "ael/syntax/format/stream.py",
        "        if self.peek() != text:\n            return False\n        self.comments()\n",
        "        if self.peek() != text:\n            return False\n"
        "        while self.note < len(self.notes) and self.notes[self.note].start < self.start:\n            self.note += 1\n",
        SYNTAX + "test_a_comment_in_every_gap_is_kept",
    ),
    Mutation(
        "K50",
        "the line that a comment after code belongs to",
        "ael/syntax/format/stream.py",
        "        if note.trailing and self.last_text and self.commented is None:",
        "        if note.trailing and not self.last_text:",
        SYNTAX + "test_comments_stay_where_they_are",
    ),
    Mutation(
        "K50",
        "the line end after a comment",
        "ael/syntax/format/layout.py",
        '            out.append("  " + text)\n            must_break = True\n',
        '            out.append("  " + text)\n',
        SYNTAX + "test_a_comment_in_every_gap_is_kept",
    ),
    Mutation(
        "K50",
        "the parentheses of the source",
        "ael/syntax/format/stream.py",
        '            self.take("(")\n            count += 1\n',
        '            self.skip("(")\n            close = [i for i in range(self.at, len(self.items)) if self.items[i].text == ")"]\n'
        "            del self.items[close[0]]\n",
        SYNTAX + "test_code",
    ),
    Mutation(
        "K53",
        "the look for constants that need themselves",
        "ael/check/constant.py",
        "        if any(s is symbol for s in self._open):",
        "        if any(s is symbol for s in self._open[:0]):",
        CHECK + "test_a_circle_without_an_end_is_told_once_with_its_path",
    ),
    Mutation(
        "K53",
        "the look for types that stand for themselves",
        "ael/check/define.py",
        "                if self._guards > guards:",
        "                if self._guards >= guards:",
        CHECK + "test_a_circle_without_an_end_is_told_once_with_its_path",
    ),
    Mutation(
        "K53",
        "the look for records without a finite value",
        "ael/check/define.py",
        "        report_endless(self.collected, self.bag)\n",
        "",
        CHECK + "test_a_circle_without_an_end_is_told_once_with_its_path",
    ),
    Mutation(
        "K53",
        "the silence about what follows from an unknown name",
        "ael/check/module.py",
        "    scope.names[text] = NOTHING_KNOWN\n    if broken",
        "    if broken",
        "tests/check::test_a_misspelt_type_used_twenty_times_is_one_error",
    ),
    Mutation(
        "K53",
        "the refusal of a union whose members are not told apart",
        "ael/check/types.py",
        "            self.definer.later(lambda: self._told_apart(node, whole))\n",
        "            pass\n",
        CHECK + "test_members_of_a_union_that_one_value_could_be_are_refused",
    ),
)
