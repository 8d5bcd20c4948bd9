"""What a program looks up and logs: whose it is, what no text can say to a database or a model, and that nothing waits for a sink."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

BASE = "tests/connectors/test_knowledge_base.py::"
PROGRAMS = "tests/connectors/test_knowledge.py::"
TEXT = "tests/connectors/test_knowledge_text.py::"
LINES = "tests/connectors/test_log_lines.py::"
SINKS = "tests/connectors/test_log_sinks.py::"

MUTATIONS = (
    Mutation(
        "K43",
        "the tenant of a document that is read in SQLite",
        "ael/natives/knowledge_sqlite.py",
        "WHERE t.name = ? AND d.id = ?",
        "WHERE ? <> '' AND d.id = ?",
        BASE + "test_tenants_share_nothing",
    ),
    Mutation(
        "K43",
        "the index that each tenant has of its own",
        "ael/natives/knowledge_sqlite.py",
        '            row = self._db.execute("SELECT number FROM ael_knowledge_tenant WHERE name = ?", (tenant,)).fetchone()\n',
        '            row = self._db.execute("SELECT number FROM ael_knowledge_tenant WHERE name <> ?", (f"-{tenant}",)).fetchone()\n',
        BASE + "test_tenants_share_nothing",
    ),
    Mutation(
        "K43",
        "the tenant of a question to PostgreSQL",
        "ael/natives/knowledge_postgres.py",
        "WHERE p.tenant = %s AND",
        "WHERE %s <> '' AND",
        BASE + "test_tenants_share_nothing",
    ),
    Mutation(
        "K43",
        "the tenant that a run's calls are about",
        "ael/natives/knowledge.py",
        "base.search(call.tenant, query_terms(query), limit)",
        'base.search("local", query_terms(query), limit)',
        PROGRAMS + "test_a_tenant_sees_its_own_documents",
    ),
    Mutation(
        "K43",
        "the tenant for which a sink acts",
        "ael/hosting/sinks.py",
        "Options(tenant=tenant, caller=",
        "Options(caller=",
        SINKS + "test_a_sink_acts_for_the_tenant_whose_entries_it_gets",
    ),
    Mutation(
        "K43",
        "that entries of two tenants are delivered apart",
        "ael/observe/waiting.py",
        '                if self._waiting[0][0]["tenant"] != tenant:\n',
        '                if self._waiting[0][0]["tenant"] == "":\n',
        LINES + "test_entries_of_two_tenants_are_delivered_apart",
    ),
    Mutation(
        "K44",
        "that a question is cut into words",
        "ael/natives/knowledge_terms.py",
        "    every = list(dict.fromkeys(terms(text)))\n",
        "    every = list(dict.fromkeys(text.casefold().split()))\n",
        BASE + "test_operators_do_not_exclude_or_filter",
    ),
    Mutation(
        "K44",
        "that tags of a conversation are taken out",
        "ael/lower/natives/knowledge.py",
        "    for pattern in _MARKUP:\n        text = pattern.sub",
        "    for pattern in _MARKUP[:2]:\n        text = pattern.sub",
        TEXT + "test_markup_that_speaks_to_a_model_is_taken_out",
    ),
    Mutation(
        "K44",
        "that markup in full-width characters is seen",
        "ael/lower/natives/knowledge.py",
        "    return text if plain == folded else",
        "    return text if plain != text else",
        TEXT + "test_markup_that_speaks_to_a_model_is_taken_out",
    ),
    Mutation(
        "K41",
        "that keys of the large providers are masked before a document is kept",
        "ael/lower/natives/knowledge.py",
        "    for hints, pattern in _CREDENTIALS:\n",
        "    for hints, pattern in ():\n",
        TEXT + "test_a_credential_of_a_known_form_is_masked",
    ),
    Mutation(
        "K41",
        "that the address of a database is never told",
        "ael/natives/knowledge_postgres.py",
        'raise Fault(FaultKind.UNAVAILABLE, f"the database of the documents: {_first_line(error)}") from None',
        'raise Fault(FaultKind.UNAVAILABLE, f"the database of the documents: {self._address}") from None',
        BASE + "test_a_database_that_restarts_is_connected_to_again",
    ),
    Mutation(
        "K26",
        "the key of a write that is made again",
        "ael/natives/knowledge_sqlite.py",
        "            if known is not None:\n                return known\n",
        "            if known is not None and not token:\n                return known\n",
        BASE + "test_a_call_that_comes_again_acts_once",
    ),
    Mutation(
        "K36",
        "the bound of what an entry carries",
        "ael/observe/entry.py",
        "    if len(text) <= CONTENT and not _deep(content, DEPTH):\n",
        "    if not _deep(content, DEPTH):\n",
        LINES + "test_an_entry_is_bounded_whatever_the_span_holds",
    ),
    Mutation(
        "K36",
        "the bound of what waits for a sink",
        "ael/observe/waiting.py",
        "            if len(self._waiting) >= QUEUE or",
        "            if len(self._waiting) >= 10 * QUEUE or",
        LINES + "test_a_sink_that_hangs_holds_nobody_up_and_what_is_lost_is_counted_and_told",
    ),
)
