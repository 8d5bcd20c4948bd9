"""All mutations, and the kinds of faults that must have one."""

from __future__ import annotations

from tests.mutation import (
    again,
    agents,
    connections,
    decoder,
    durable,
    edges,
    embedding,
    fleet,
    kept,
    knowledge,
    language,
    load,
    loop,
    packs,
    placements,
    progress,
    provider,
    queues,
    reaching,
    rpc,
    sandbox,
    secrets,
    servers,
    skills,
    tenants,
    whatif,
)

KINDS = frozenset(f"K{number:02}" for number in (*range(1, 17), 18, 19, 21, 22, 23, *range(25, 51), 53))
"""What the language and its run time so far have to exclude."""

MUTATIONS = (
    *decoder.MUTATIONS,
    *loop.MUTATIONS,
    *provider.MUTATIONS,
    *secrets.MUTATIONS,
    *sandbox.MUTATIONS,
    *skills.MUTATIONS,
    *servers.MUTATIONS,
    *connections.MUTATIONS,
    *placements.MUTATIONS,
    *load.MUTATIONS,
    *rpc.MUTATIONS,
    *packs.MUTATIONS,
    *progress.MUTATIONS,
    *edges.MUTATIONS,
    *queues.MUTATIONS,
    *reaching.MUTATIONS,
    *durable.MUTATIONS,
    *fleet.MUTATIONS,
    *again.MUTATIONS,
    *kept.MUTATIONS,
    *knowledge.MUTATIONS,
    *whatif.MUTATIONS,
    *agents.MUTATIONS,
    *tenants.MUTATIONS,
    *language.MUTATIONS,
    *embedding.MUTATIONS,
)
