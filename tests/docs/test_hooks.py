"""What the site's hooks make of a page's Markdown, for pages that are harder than ours."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.docs.pages import DOCS


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_hooks", DOCS / "hooks" / "site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HOOKS = loaded()


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("a [link](x.md) and [two](y.md#z)", "a <x.md> and <y.md#z>"),
        ("`[code](x.md)` and [`code`](x.md)", "`[code](x.md)` and <x.md>"),
        ("``a ` [b](x.md)`` [c](y.md)", "``a ` [b](x.md)`` <y.md>"),
        ("an ![image](x.png) is none", "an ![image](x.png) is none"),
        ("[a [b] c](x.md)", "<x.md>"),
        ("```text\n[a](x.md)\n```\n[b](y.md)", "```text\n[a](x.md)\n```\n<y.md>"),
        ("````md\n```\n[a](x.md)\n```\n````\n[b](y.md)", "````md\n```\n[a](x.md)\n```\n````\n<y.md>"),
        ("xs[0](1) [not](a b)", "xs<1> [not](a b)"),
    ],
)
def test_links_outside_of_code_are_changed(text: str, changed: str) -> None:
    assert HOOKS._over_links(text, lambda shown, target: f"<{target}>") == changed


def test_comments_and_words_of_fences_are_left_out() -> None:
    text = "a\n<!-- one\n```mcp\n{}\n```\n-->\nb\n```json file=x.json\n<!-- kept -->\n```\n<!-- short -->\nc"
    assert HOOKS._plain(text) == "a\nb\n```json\n<!-- kept -->\n```\nc"


def test_code_of_tables_and_inner_lists_are_written_as_this_markdown_has_them() -> None:
    text = "| `a \\| b` | c \\| d |\n- one\n  - two\n```text\n  - kept\n| `x \\| y` |\n```"
    assert HOOKS._outside(text, HOOKS._usual) == (
        "| `a | b` | c \\| d |\n- one\n    - two\n```text\n  - kept\n| `x \\| y` |\n```"
    )


@given(st.text(alphabet="`[]()a-.\n #|<!>\\", max_size=200))
def test_no_text_is_lost_where_no_link_is_changed(text: str) -> None:
    assert HOOKS._over_links(text, lambda shown, target: f"[{shown}]({target})") == text


@pytest.mark.parametrize(
    ("text", "lead"),
    [
        ("# A\n\nOne. Two.", "One. Two."),
        ("# A\n\n| a |\n| - |\n\nSee [b](c.md).", "See b."),
        ("# A\n\n```sh\nls\n```\n\nText", ""),
        ("", ""),
    ],
)
def test_the_lead_of_a_page(text: str, lead: str) -> None:
    assert HOOKS._lead(text) == lead
