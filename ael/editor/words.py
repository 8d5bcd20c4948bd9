"""The words of the language by class, from `grammar/words.toml`: the one list from which all highlighting is made."""

from __future__ import annotations

import tomllib
from functools import cache

from ael.project.shipped import shipped


@cache
def words() -> dict[str, tuple[str, ...]]:
    """Class (`declaration`, `statement`, `operator`, `literal`, `soft`, `clause`, `type`, `known`) -> its words."""
    with (shipped("grammar") / "words.toml").open("rb") as file:
        return {name: tuple(listed) for name, listed in tomllib.load(file).items()}
