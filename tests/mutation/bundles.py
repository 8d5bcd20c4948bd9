"""Guards of bundles."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

BUNDLE = "tests/cli/test_bundle.py::"
REFUSED = BUNDLE + "test_what_is_not_as_it_was_made_is_refused_and_nothing_is_written"

MUTATIONS = (
    Mutation(
        "K29",
        "the digests of a bundle's files",
        "ael/project/bundle.py",
        "if {path: hashlib.sha256(content).hexdigest() for path, content in contents.items()} != listed:",
        "if False:",
        REFUSED,
    ),
    Mutation(
        "K42",
        "where the files of a bundle may lie",
        "ael/project/bundle.py",
        'part in ("", ".", "..") or ',
        "",
        REFUSED,
    ),
    Mutation(
        "K29",
        "what a program needs beyond its manifest",
        "ael/cli/bundle.py",
        "beyond = needed.beyond(found.requires)",
        "beyond: list[str] = []",
        BUNDLE + "test_what_it_requires_is_a_ceiling",
    ),
    Mutation(
        "K42",
        "that no code in Python travels",
        "ael/project/bundle.py",
        "if name.endswith(tuple(one.casefold() for one in _CODE)):",
        "if False:",
        REFUSED,
    ),
)
