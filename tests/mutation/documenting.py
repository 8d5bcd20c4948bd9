"""Pages, sessions and fixes: what others wrote stays text, what was kept stays what it is, and no file is lost."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

MARKUP = "tests/documenting/test_markdown.py::test_a_comment_brings_no_markup_of_its_own"
SESSION = "tests/repl/test_session.py::"
FIX = "tests/cli/test_fix.py::"

MUTATIONS = (
    # --- pages of somebody's pack
    Mutation(
        "K44",
        "the rule that HTML in a comment is text",
        "ael/documenting/markdown.py",
        '{"html": False}',
        '{"html": True}',
        MARKUP,
    ),
    Mutation(
        "K44",
        "the schemes that a link in a comment may have",
        "ael/documenting/markdown.py",
        '    return scheme is None or scheme[0].lower() in ("http:", "https:")\n',
        "    return scheme is None or bool(scheme[0])\n",
        MARKUP,
    ),
    Mutation(
        "K44",
        "the edge of the folder that pages are taken away in",
        "ael/documenting/site.py",
        "        if gone.resolve().is_relative_to(folder.resolve()) and gone.is_file():\n",
        "        if gone.is_file():\n",
        "tests/documenting/test_site.py::test_a_folder_is_written_once_and_only_ones_own",
    ),
    # --- what a session keeps
    Mutation(
        "K44",
        "the mark of outside data on what a session keeps",
        "ael/check/flow.py",
        "                return TAINTED if meaning.name in self.shared.given else 0\n",
        "                return 0\n",
        f"{SESSION}test_outside_data_stays_outside_data",
    ),
    Mutation(
        "K44",
        "the rule that what a session keeps was not written",
        "ael/check/constant.py",
        "            return self.of(symbol) if symbol.node is not None else self._refuse(scope, node)\n",
        "            return self.of(symbol)\n",
        f"{SESSION}test_what_was_not_written_is_no_constant",
    ),
    Mutation(
        "K40",
        "the grants of a session",
        "ael/repl/session.py",
        "        if self.all_granted:\n",
        "        if not self.all_granted:\n",
        f"{SESSION}test_a_session_uses_only_what_was_granted",
    ),
    # --- fixes
    Mutation(
        "K50",
        "the second look at a file before it is written",
        "ael/project/mend.py",
        '        if data[len(lead) :] != change.before.text.encode("utf-8"):\n',
        "        if not data and lead:\n",
        f"{FIX}test_a_file_that_changed_meanwhile_is_left_alone",
    ),
    Mutation(
        "K50",
        "the check that a fix leaves syntax",
        "ael/project/mend.py",
        "    return _broken(after) > _broken(before)\n",
        "    return _broken(after) > _broken(before) + 1_000\n",
        f"{FIX}test_a_fix_that_breaks_the_syntax_is_left_out",
    ),
    Mutation(
        "K49",
        "the byte order mark of a file that is mended",
        "ael/project/mend.py",
        '        found.append((change, path, lead + change.text.encode("utf-8")))\n',
        '        found.append((change, path, change.text.encode("utf-8")))\n',
        f"{FIX}test_what_is_not_touched_stays",
    ),
)
