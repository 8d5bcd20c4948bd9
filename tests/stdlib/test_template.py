"""Templates: filled once, and never looked at again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.stdlib.functions import ending, module

template = module("template")
TEXTS = st.text("{}\\ab .", max_size=20)
NAMES = st.text("abc_.-9", min_size=1, max_size=5)


@given(TEXTS)
def test_an_escaped_text_is_that_text(text: str) -> None:
    assert template.render(template.escape(text), {}) == text


@given(st.lists(st.tuples(st.text("ab {}", max_size=5).filter(lambda t: "{{" not in t and not t.endswith("{")), NAMES)), TEXTS)
def test_each_hole_has_its_value_as_it_is(parts: list[tuple[str, str]], value: str) -> None:
    whole = "".join(f"{text}{{{{ {name} }}}}" for text, name in parts)
    values = {name: f"{value}{name}" for _, name in parts}
    assert template.render(whole, values) == "".join(text + values[name] for text, name in parts)
    assert template.names_of(whole) == list(dict.fromkeys(name for _, name in parts))
    assert template.render_or(whole, {}, "?") == "".join(text + "?" for text, _ in parts)
    if parts:
        name, told = ending(template.render, whole, {})
        assert (name, told["name"]) == ("MissingValue", parts[0][1])
        assert whole[told["at"] :].startswith("{{")


@given(TEXTS)
def test_any_text_is_rendered_or_told_what_is_wrong(text: str) -> None:
    found = ending(template.render, text, {"a": "1", "ab": "2"})
    if isinstance(found, tuple):
        assert found[0] in ("BadTemplate", "MissingValue")
        assert text[found[1]["at"] :].startswith("{{")
    else:
        assert template.render_or(text, {"a": "1", "ab": "2"}, "?") == found


def test_each_value_is_escaped_once() -> None:
    made = template.render_with("<{{a}}>{{a}}", {"a": "&"}, lambda value: value.replace("&", "&amp;"))
    assert made == "<&amp;>&amp;"


def test_many_holes_take_linear_time() -> None:
    assert template.render("{{a}}" * 100_000, {"a": "x"}) == "x" * 100_000
    assert template.render("\\{{" * 100_000, {}) == "{{" * 100_000
    assert ending(template.render, "{{" * 100_000, {})[0] == "BadTemplate"
    assert ending(template.render, "{{a}}" * 100 + "{{" + "a" * 1_000_000, {"a": ""})[0] == "BadTemplate"
