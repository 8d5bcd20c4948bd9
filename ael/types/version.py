"""Versions of packs, and what a `depends` line asks for.

A version is `MAJOR.MINOR.PATCH` with an optional `-pre.release`, compared as Semantic Versioning 2.0.0 says (https://semver.org, rule
11); parts that are left out are 0 (`"1.2"` is 1.2.0). A requirement is a list of comparisons, all of which must hold. One without a
sign is the rule of Cargo's default requirement (caret): at least that version, and below the next one that may break it, which is the
next step of the first part that is not 0:

    "1.2"      >=1.2.0, <2.0.0        "0.3"     >=0.3.0, <0.4.0
    "1.2.3"    >=1.2.3, <2.0.0        "0.0.7"   >=0.0.7, <0.0.8
    "1"        >=1.0.0, <2.0.0        "0"       >=0.0.0, <1.0.0

A version before a release (`1.3.0-rc.1`) is taken only where the requirement itself names one of the same `MAJOR.MINOR.PATCH`: nobody
gets an unfinished version without asking for it.
"""

from __future__ import annotations

import re
from functools import total_ordering

from ael.data import dataclass

MAX_LENGTH = 64
"""Characters of a version."""
MAX_COMPARISONS = 8
"""Comparisons of a requirement."""

_NUMBER = r"(?:0|[1-9][0-9]{0,8})"
_IDENTIFIER = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION = re.compile(rf"({_NUMBER})(?:\.({_NUMBER}))?(?:\.({_NUMBER}))?(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?", re.ASCII)
_COMPARISON = re.compile(r"\s*(>=|<=|>|<|=|\^)?\s*([0-9A-Za-z.-]+)\s*", re.ASCII)


class VersionError(ValueError):
    """A text that is no version, or no requirement; the message says what is wrong with it."""


@total_ordering
@dataclass(frozen=True)
class Version:
    """`numbers` are major, minor and patch; `pre` the identifiers before a release, empty for a release."""

    numbers: tuple[int, int, int]
    pre: tuple[str, ...] = ()

    @property
    def release(self) -> bool:
        """Whether it is finished."""
        return not self.pre

    def __str__(self) -> str:
        text = ".".join(map(str, self.numbers))
        return f"{text}-{'.'.join(self.pre)}" if self.pre else text

    def __lt__(self, other: Version) -> bool:
        return self._key() < other._key()

    def _key(self) -> tuple[tuple[int, int, int], bool, tuple[tuple[bool, int, str], ...]]:
        # A number is below a word, and what comes before a release below the release.
        parts = tuple((not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in self.pre)
        return self.numbers, self.release, parts


@dataclass(frozen=True)
class Comparison:
    """One comparison of a requirement: `sign` is `>=`, `<=`, `>`, `<` or `=`."""

    sign: str
    version: Version

    def holds(self, version: Version) -> bool:
        """Whether `version` fits, whatever it says of versions before a release."""
        match self.sign:
            case ">=":
                return version >= self.version
            case "<=":
                return version <= self.version
            case ">":
                return version > self.version
            case "<":
                return version < self.version
            case _:
                return version == self.version


@dataclass(frozen=True)
class Requirement:
    """What a `depends` line asks for. `text` is how it is written. Without comparisons any version fits: what was asked is not known."""

    text: str
    comparisons: tuple[Comparison, ...]

    def allows(self, version: Version) -> bool:
        """Whether `version` fits."""
        if not self.comparisons:
            return True
        if not all(comparison.holds(version) for comparison in self.comparisons):
            return False
        return version.release or any(
            not one.version.release and one.version.numbers == version.numbers for one in self.comparisons
        )

    def __str__(self) -> str:
        return ", ".join(f"{one.sign}{one.version}" for one in self.comparisons)


def parse_version(text: str) -> Version:
    """The version that `text` writes. Raises `VersionError`."""
    found = _VERSION.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if found is None:
        raise VersionError(f"`{_excerpt(text)}` is no version: it is written `1.2.3`, and before a release `1.2.3-rc.1`")
    major, minor, patch = (int(part or 0) for part in found.groups()[:3])
    return Version((major, minor, patch), tuple(found[4].split(".")) if found[4] else ())


def parse_requirement(text: str) -> Requirement:
    """The requirement that `text` writes: `1.2`, `>=1.2, <3`. Raises `VersionError`."""
    parts = text.split(",")
    if len(parts) > MAX_COMPARISONS:
        raise VersionError(f"more than {MAX_COMPARISONS} comparisons")
    comparisons: list[Comparison] = []
    for part in parts:
        found = _COMPARISON.fullmatch(part) if len(part) <= MAX_LENGTH else None
        if found is None:
            raise VersionError(f'`{_excerpt(part.strip())}` is no requirement: write `"1.2"`, or comparisons: `">=1.2, <3"`')
        version = parse_version(found[2])
        if found[1] in (None, "^"):
            comparisons += [Comparison(">=", version), Comparison("<", breaking(version, len(found[2].split("-")[0].split("."))))]
        else:
            comparisons.append(Comparison(found[1], version))
    return Requirement(text, tuple(comparisons))


def breaking(version: Version, parts: int = 3) -> Version:
    """The first version after `version` that may break what works with it. `parts`: how many of its numbers were written."""
    for at, number in enumerate(version.numbers):
        if number > 0 or at == parts - 1:
            return _next(version, at)
    return _next(version, 2)


def compatible(version: Version) -> Version:
    """The first version after `version` that may add to it: the next minor one, before 1.0 the next that breaks nothing."""
    major, minor, patch = version.numbers
    return Version((major, minor + 1, 0)) if major else Version((0, minor, patch + 1)) if minor else breaking(version)


def patched(version: Version) -> Version:
    """The next version that changes nothing that others see."""
    major, minor, patch = version.numbers
    return Version((major, minor, patch)) if version.pre else Version((major, minor, patch + 1))


def _next(version: Version, at: int) -> Version:
    numbers = [*version.numbers[:at], version.numbers[at] + 1, 0, 0]
    return Version((numbers[0], numbers[1], numbers[2]))


def _excerpt(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"
