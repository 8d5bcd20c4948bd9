"""Guards of the standard library: what is hidden in a page, where links lead, what is read strictly (`ael/lower/natives`)."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

NATIVES = "ael/lower/natives/"
HTML = "tests/stdlib/test_html.py::"
ENCODING = "tests/stdlib/test_encoding.py::"
HIDDEN = HTML + "test_what_a_browser_does_not_show_does_not_come_through"

MUTATIONS = (
    Mutation(
        "K13",
        "elements that say themselves that they are hidden",
        NATIVES + "html_walk.py",
        ' or "hidden" in given or ',
        " or ",
        HIDDEN,
    ),
    Mutation(
        "K13",
        "elements that a style hides",
        NATIVES + "html_walk.py",
        "    return hides(style)\n",
        "    return False\n",
        HIDDEN,
    ),
    Mutation(
        "K13",
        "letters in the colour of their ground",
        NATIVES + "html_walk.py",
        "                if here.visible and here.ink.legible:\n                    yield shown(token)\n",
        "                if here.visible:\n                    yield shown(token)\n",
        HIDDEN,
    ),
    Mutation(
        "K13",
        "values that a browser passes over",
        NATIVES + "html_styles.py",
        "            if _possible(name, value):\n",
        "            if name:\n",
        HIDDEN,
    ),
    Mutation(
        "K13",
        "characters that nobody sees",
        NATIVES + "html_walk.py",
        '_INVISIBLE.sub("", html_unescape(text))',
        "html_unescape(text)",
        HTML + "test_any_text_is_a_page",
    ),
    Mutation(
        "K13",
        "what an end tag does not reach out of",
        NATIVES + "html_open.py",
        "        if place < 0 or place < self._bound(kind):\n",
        "        if place < 0:\n",
        HIDDEN,
    ),
    Mutation(
        "K13",
        "hidden formatting that goes on in the next paragraph",
        NATIVES + "html_open.py",
        "        if element.name in known.FORMATTING and not own and (element.hidden or not element.ink.legible):\n",
        "        if False:\n",
        HIDDEN,
    ),
    Mutation(
        "K13",
        "end tags of what was too deep",
        NATIVES + "html_open.py",
        "            self._deep[name] += 1\n",
        "",
        HIDDEN,
    ),
    Mutation(
        "K13",
        "that a comment ends where a browser ends it",
        NATIVES + "html_tokens.py",
        '_COMMENT_END = re.compile(r"--!?>")',
        '_COMMENT_END = re.compile(r">")',
        HIDDEN,
    ),
    Mutation(
        "K13",
        "links to scripts",
        NATIVES + "html_inline.py",
        '    return whole if scheme is None or scheme[0].lower() in ("http:", "https:", "mailto:", "tel:") else None',
        "    return whole",
        HTML + "test_where_links_lead",
    ),
    Mutation(
        "K13",
        "that text makes no Markdown",
        NATIVES + "html_inline.py",
        r'text if raw else _SPECIAL.sub(r"\\\g<0>", text)',
        "text",
        HTML + "test_the_markdown_of",
    ),
    Mutation(
        "K12",
        "references with more digits than a number may have",
        NATIVES + "encoding.py",
        '_LONG.sub("\\N{REPLACEMENT CHARACTER}", _ZEROS.sub(r"\\1", text))',
        "text",
        ENCODING + "test_references_to_no_character",
    ),
    Mutation(
        "K13",
        "bits of base64 that mean nothing",
        NATIVES + "encoding.py",
        '    return data if whole and not _loose(text.rstrip("="), len(data)) else None',
        "    return data if whole else None",
        ENCODING + "test_there_is_one_text_for_each_value",
    ),
    Mutation(
        "K13",
        "names of files that are no time zones",
        NATIVES + "time.py",
        "    if len(name) <= 64 and _ZONE.fullmatch(name):\n",
        "    if len(name) <= 64:\n",
        "tests/stdlib/test_time.py::test_every_zone_is_one_and_nothing_else",
    ),
    Mutation(
        "K13",
        "a quote inside of a field",
        NATIVES + "csv.py",
        "            if at < end and text[at] == '\"':\n                return _wrong(line, \"a quote stands inside",
        '            if False:\n                return _wrong(line, "a quote stands inside',
        "tests/stdlib/test_csv.py::test_it_reads_what_pythons_strict_reader_reads_and_as_it_does",
    ),
)
