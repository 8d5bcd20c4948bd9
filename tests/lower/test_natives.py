"""The natives of the standard library: each is declared once, done once, used, and reached through the library alone."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import cast

import pytest

from ael.check.builtin import Builtin
from ael.check.natives import find_native
from ael.lower.natives import implementation
from ael.natives.world import SecretsByName, World
from ael.run.clock import SystemClock

ROOT = Path(__file__).resolve().parent.parent.parent
LIBRARY = {file.stem: file.read_text(encoding="utf-8") for file in sorted((ROOT / "stdlib" / "std").glob("*.ael"))}
TOPICS = sorted(file.stem for file in (ROOT / "ael" / "check" / "natives").glob("[a-z]*.py"))


def _declared() -> Iterator[Builtin]:
    for topic in TOPICS:
        yield from import_module(f"ael.check.natives.{topic}").TABLE


@pytest.mark.parametrize("native", list(_declared()), ids=lambda one: one.name)
def test_a_native_function_has_an_implementation_that_takes_what_it_says_and_the_library_uses_it(native: Builtin) -> None:
    parameters = list(inspect.signature(implementation(native.name)).parameters.values())
    needed = [p for p in parameters if p.default is p.empty]
    assert len(needed) <= native.required <= len(native.names) <= len(parameters)
    name = "native_" + native.name.removeprefix("native.").replace(".", "_")
    assert find_native(name, "std/any") is native
    assert any(f"{name}(" in text for text in LIBRARY.values())


def test_every_native_that_the_library_names_is_there() -> None:
    for text in LIBRARY.values():
        for name in re.findall(r"\bnative_\w+", text):
            assert find_native(name, "std/any") is not None, name


def test_every_native_effect_that_the_library_names_is_there_and_takes_the_parameters_of_its_tool(tmp_path: Path) -> None:
    world = World(tmp_path, tmp_path, {}, frozenset(), {}, cast(SecretsByName, None), SystemClock())
    for text in LIBRARY.values():
        for topic, function in re.findall(r'extern "std:(\w+)\.(\w+)"', text):
            assert callable(import_module(f"ael.natives.{topic}").natives(world)[function])


def test_a_name_that_is_no_native_means_none() -> None:
    assert find_native("native_hash_none", "std/hash") is None
    assert find_native("native_none_sha256", "std/hash") is None
    assert find_native("native_", "std/hash") is None
    assert find_native("native_hash_sha256", "main") is None
    assert find_native("native_hash_sha256", "shop/std") is None
