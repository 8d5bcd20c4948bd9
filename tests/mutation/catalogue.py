"""All mutations, and the kinds of faults that must have one."""

from __future__ import annotations

from tests.mutation import connections, decoder, language, loop, provider, secrets, servers

KINDS = frozenset(f"K{number:02}" for number in (*range(1, 17), 18, 19, 21, 22, 23, 25, 26, *range(31, 46), 47, 48, 49, 50, 53))
"""What the language and its run time so far have to exclude."""

MUTATIONS = (
    *decoder.MUTATIONS,
    *loop.MUTATIONS,
    *provider.MUTATIONS,
    *secrets.MUTATIONS,
    *servers.MUTATIONS,
    *connections.MUTATIONS,
    *language.MUTATIONS,
)
