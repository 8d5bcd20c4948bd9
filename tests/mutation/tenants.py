"""Tenants, callers and the operator's lists: whose runs begin, what they may do and spend, and what one sees of another."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

TENANTS = "tests/run/test_tenants.py::"
ACCOUNTS = "tests/journal/test_accounts.py::"
ACCESS = "tests/host/test_access.py::"
SERVERS = "tests/mcp_run/test_tenants.py::"

MUTATIONS = (
    Mutation(
        "K02",
        "the lock that all who draw from an account share, and what is drawn being there at once",
        "ael/journal/accounts.py",
        "        db.change(_ADD, key, since, amount.tokens, cost, amount.steps, amount.tool_calls)\n",
        "        db.change(_ADD, key, since, 0, 0, amount.steps, amount.tool_calls)\n",
        ACCOUNTS + "test_no_number_of_workers_draws_more_than_there_is",
    ),
    Mutation(
        "K02",
        "the drawing before a model is asked",
        "ael/run/conversation.py",
        "        if run.purse is None or not run.purse.spends:\n",
        "        if run.purse is None or run.purse.spends:\n",
        TENANTS + "test_runs_beside_each_other_reserve_before_they_ask",
    ),
    Mutation(
        "K02",
        "the row by which a draw that is made again is found",
        "ael/journal/accounts.py",
        "    if known:\n        return Drawn(id,",
        "    if known and not id:\n        return Drawn(id,",
        ACCOUNTS + "test_a_draw_whose_commit_nobody_heard_of_is_made_once",
    ),
    Mutation(
        "K02",
        "the row by which a settlement that is made again is found",
        "ael/journal/accounts.py",
        '    db.change("DELETE FROM ael_draw WHERE draw = ?", id)\n',
        "    db.now()\n",
        ACCOUNTS + "test_what_was_spent_takes_the_place_of_what_was_drawn_once",
    ),
    Mutation(
        "K03",
        "no money at all being no call",
        "ael/run/purse.py",
        "(not limit.cost or amount.cost + drawn.cost > limit.cost)",
        "(amount.cost + drawn.cost > limit.cost)",
        TENANTS + "test_zero_is_none",
    ),
    Mutation(
        "K04",
        "the look into the journal before a step of a tenant is taken",
        "ael/run/compact.py",
        "    if run.purse is None or (known is not None and known.ending is not None):\n",
        "    if run.purse is None:\n",
        TENANTS + "test_what_the_journal_replays_is_not_drawn_again",
    ),
    Mutation(
        "K04",
        "the look into the journal before a call of a tenant is taken",
        "ael/run/gate.py",
        "    if run.purse is None or (run.journal.continued and run.journal.last(path) is not None):\n",
        "    if run.purse is None:\n",
        TENANTS + "test_what_the_journal_replays_is_not_drawn_again",
    ),
    Mutation(
        "K43",
        "the refusal of a tenant that the deployment does not have",
        "ael/run/access.py",
        "        if self._tenants and tenant not in self._tenants:\n",
        "        if self._tenants and not tenant:\n",
        TENANTS + "test_nobody_else_begins_a_run",
    ),
    Mutation(
        "K43",
        "the refusal of a caller for another tenant than its own",
        "ael/run/access.py",
        "        if bound is not None and bound.tenant != tenant:\n",
        "        if bound is not None and not tenant:\n",
        TENANTS + "test_nobody_else_begins_a_run",
    ),
    Mutation(
        "K43",
        "a tenant's own part of a store in memory",
        "ael/run/store.py",
        "        return self if tenant == DEFAULT_TENANT else self._tenants.setdefault(tenant, MemoryStore())\n",
        "        return self\n",
        TENANTS + "test_nothing_that_a_tenant_keeps_is_seen_by_another",
    ),
    Mutation(
        "K43",
        "a tenant's own part of a store in a file",
        "ael/run/store.py",
        '        part._name = f"{tenant}:{self._name}"\n',
        "        part._name = self._name\n",
        TENANTS + "test_nothing_that_a_tenant_keeps_is_seen_by_another",
    ),
    Mutation(
        "K43",
        "the look for a tenant's own secret",
        "ael/hosting/secrets.py",
        '        for owner in (tenant, f"{tenant}/{caller}"):\n',
        '        for owner in (f"{tenant}/{caller}",):\n',
        "tests/host/test_secrets.py::test_a_tenants_own_secret_goes_before_the_common_one",
    ),
    Mutation(
        "K43",
        "the share of a tenant in a server",
        "ael/server/gate.py",
        "        return most is not None and self._of_tenant[caller.tenant] >= most\n",
        "        return most is not None and self._of_tenant[caller.tenant] < 0\n",
        "tests/server/test_callers.py::test_a_place_of_a_tenant_is_given_back",
    ),
    Mutation(
        "K43",
        "the nodes that a server is reserved for",
        "ael/run/permission.py",
        "    if target.only is not None and target.only.isdisjoint(rights.inside):\n",
        "    if target.only is not None and not target.only:\n",
        SERVERS + "test_only_the_nodes_that_a_server_is_for_reach_it",
    ),
    Mutation(
        "K43",
        "the layers of a run's tenant and caller",
        "ael/run/engine.py",
        "        layers = (*self.access.layers(options.tenant, options.caller), *kept, self.world.bindings.operator)\n",
        "        layers = (*kept, self.world.bindings.operator)\n",
        TENANTS + "test_what_is_withdrawn_from_a_tenant_holds_for_runs_under_way",
    ),
    Mutation(
        "K43",
        "the operator's list of permissions",
        "ael/host.py",
        '        operator=Layer("the operator\'s allow-list", deployment.allowed, deployment.denied),\n        tenants=deployment.tenants,',
        '        operator=Layer("the operator\'s allow-list", None, deployment.denied),\n        tenants=deployment.tenants,',
        ACCESS + "test_what_is_not_on_the_operators_list_is_denied",
    ),
    Mutation(
        "K43",
        "the outer grants in a node's rights",
        "ael/run/permission.py",
        "        effective = grants if self.grants is None else self.grants & grants\n",
        "        effective = grants\n",
        ACCESS + "test_what_an_agent_has_not_its_nodes_have_not",
    ),
)
