"""All mutations, and the kinds of faults that must have one."""

from __future__ import annotations

from tests.mutation import decoder, language, loop, provider, secrets, servers

KINDS = frozenset(f"K{number:02}" for number in (*range(1, 17), 18, 19, 21, *range(31, 43), 44, 47, 48, 49, 50, 53))
"""What the language and its run time so far have to exclude."""

MUTATIONS = (
    *decoder.MUTATIONS,
    *loop.MUTATIONS,
    *provider.MUTATIONS,
    *secrets.MUTATIONS,
    *servers.MUTATIONS,
    *language.MUTATIONS,
)
