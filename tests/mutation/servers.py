"""MCP servers before anything runs: schemas, names, pins, hints, addresses, child processes (`ael/check`, `ael/project`)."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

CHECK = "tests/check/test_mcp.py::"
LOCK = "tests/project/test_lock.py::"
BIND = "tests/project/test_bind_mcp.py::"

MUTATIONS = (
    Mutation(
        "K16",
        "the refusal of one tool alone",
        "ael/check/mcp_tool.py",
        "            self._refused(member, pin, refused)\n            return\n        if not self._define(types.definitions",
        "            raise\n        if not self._define(types.definitions",
        CHECK + "test_k16_a_tool_without_a_type_is_refused_alone",
    ),
    Mutation(
        "K18",
        "the look at the dialect of a node's model",
        "ael/check/mcp_dialect.py",
        "            if isinstance(found, Unsupported):",
        "            if isinstance(found, Unsupported) and not schema:",
        CHECK + "test_k18_what_a_provider_cannot_be_told_is_an_error_for_that_tool",
    ),
    Mutation(
        "K19",
        "the server in the name that a model sees",
        "ael/check/tool.py",
        "        return wire_name(short(symbol.name))",
        "        return own",
        CHECK + "test_k19_one_name_of_two_servers_is_two_tools",
    ),
    Mutation(
        "K19",
        "the refusal of one tool under two names",
        "ael/check/mcp.py",
        "        if first is not member:",
        "        if first is not member and not wire:",
        CHECK + "test_k19_a_tool_is_used_once",
    ),
    Mutation(
        "K21",
        "the pins in the digest of a program",
        "ael/check/check.py",
        "    parts += [part for name in sorted(pinned) for part in (name, pinned[name])]\n",
        "",
        CHECK + "test_k21_a_changed_definition_is_another_program",
    ),
    Mutation(
        "K21",
        "the comparison of a pin with its digest",
        "ael/project/lock.py",
        '    if entry.get("sha256") != digest:',
        '    if entry.get("sha256") is digest:',
        LOCK + "test_a_pin_that_was_changed_by_hand_does_not_count",
    ),
    Mutation(
        "K21",
        "the lock among the files that a check read",
        "ael/project/program.py",
        "        read_files = set(self.files) | _beside(self.project)",
        "        read_files = set(self.files)",
        "tests/project/test_cache.py::test_a_lock_that_changes_comes_or_goes_checks_it_again",
    ),
    Mutation(
        "K26",
        "`never` for a tool that says nothing",
        "ael/check/mcp.py",
        "    return Repeat[said.kind.upper()] if said is not None else Repeat.NEVER",
        "    return Repeat[said.kind.upper()] if said is not None else Repeat.IDEMPOTENT",
        CHECK + "test_no_annotation_makes_a_tool_repeatable",
    ),
    Mutation(
        "K44",
        "the taint of what a server answers",
        "ael/check/taint.py",
        "tuple(p.trusted for p in parameters), (None,))",
        "tuple(p.trusted for p in parameters), ())",
        CHECK + "test_every_result_is_outside_data",
    ),
    Mutation(
        "K42",
        "the list of private addresses in a deployment",
        "ael/check/url.py",
        "    if private:\n",
        "    if private and hosts:\n",
        BIND + "test_an_address_that_is_refused",
    ),
    Mutation(
        "K42",
        "the refusal of a user in an address",
        "ael/check/url.py",
        '    if "@" in authority:\n',
        '    if "@" in scheme:\n',
        BIND + "test_an_address_with_a_credential_is_never_shown",
    ),
    Mutation(
        "K41",
        "the refusal of variables that decide which code runs",
        "ael/project/environment.py",
        "    return upper in _NAMES or upper.startswith(_PREFIXES)",
        "    return upper in _NAMES",
        BIND + "test_dangerous_variables",
    ),
    Mutation(
        "K19",
        "the denial of a tool that is not let through",
        "ael/project/bind_mcp.py",
        "        if wire not in binding.tools:",
        "        if wire in binding.tools:",
        BIND + "test_a_tool_that_is_not_let_through_is_denied",
    ),
)
