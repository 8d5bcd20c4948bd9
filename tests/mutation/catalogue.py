"""All mutations, and the kinds of faults that must have one."""

from __future__ import annotations

from tests.mutation import decoder, language, loop, provider, secrets

KINDS = frozenset(f"K{number:02}" for number in (*range(1, 16), 18, *range(31, 42), 47, 48, 49, 50, 53))
"""What the language and its run time so far have to exclude."""

MUTATIONS = (*decoder.MUTATIONS, *loop.MUTATIONS, *provider.MUTATIONS, *secrets.MUTATIONS, *language.MUTATIONS)
