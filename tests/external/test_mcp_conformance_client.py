"""The official MCP conformance suite, against the client that AEL uses: all client scenarios, at every revision they apply to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.external.conformance import ROOT, run_clients, scenarios

CLIENT = "tests.external.conformance_turn"
NOT_APPLICABLE = Path(__file__).with_name("conformance-client.yml")
PAGE = ROOT / "docs" / "mcp-conformance.md"
REVISIONS = ("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
ERAS = REVISIONS[2:]
"""The last revision of the era with sessions, and the first without."""

# Scenario -> the revisions that it applies to.
_BOTH = [
    *("tools_call", "json-schema-2020-12-preservation"),
    *(f"auth/metadata-{name}" for name in ("default", "var1", "var2", "var3")),
    *(f"auth/scope-{name}" for name in ("from-www-authenticate", "from-scopes-supported", "omitted-when-undefined", "step-up")),
    *("auth/scope-retry-limit", "auth/basic-cimd", "auth/pre-registration"),
    *(f"auth/token-endpoint-auth-{name}" for name in ("basic", "post", "none")),
]
_SESSIONS = ["initialize", "elicitation-sep1034-client-defaults", "sse-retry"]
_STATELESS = [
    *("request-metadata", "sep-2322-client-request-state", "json-schema-ref-no-deref"),
    *("http-standard-headers", "http-custom-headers", "http-invalid-tool-headers"),
    *("auth/resource-mismatch", "auth/offline-access-scope", "auth/offline-access-not-supported"),
    *("auth/authorization-server-migration", "auth/metadata-issuer-mismatch"),
    *(
        f"auth/iss-{name}"
        for name in ("supported", "not-advertised", "supported-missing", "wrong-issuer", "unexpected", "normalized")
    ),
]
_EXTENSIONS = [
    *("auth/client-credentials-jwt", "auth/client-credentials-basic", "auth/enterprise-managed-authorization"),
    *("auth/dpop", "auth/dpop-nonce", "auth/wif-jwt-bearer"),
]
_FIRST = ["auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"]
_SECOND = ["initialize", "tools_call", *(f"auth/token-endpoint-auth-{name}" for name in ("basic", "post", "none"))]

RUNS = [
    *((name, revision) for revision in ERAS for name in _BOTH),
    *((name, "2025-11-25") for name in _SESSIONS),
    *((name, "2026-07-28") for name in _STATELESS),
    *((name, revision) for revision in ERAS for name in _EXTENSIONS),
    *((name, "2025-03-26") for name in _FIRST),
    *((name, "2025-06-18") for name in _SECOND),
]

REFUSED = {
    *("auth/scope-retry-limit", "auth/resource-mismatch", "auth/metadata-issuer-mismatch"),
    *("auth/iss-supported-missing", "auth/iss-wrong-issuer", "auth/iss-unexpected", "auth/iss-normalized"),
}
"""Scenarios with a server or an authorization server that must not be trusted."""


@pytest.mark.feature("B12")
@pytest.mark.xdist_group("mcp conformance of the client")
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("scenario", "revision"), RUNS, ids=[f"{revision}-{name}" for name, revision in RUNS])
def test_scenario(scenario: str, revision: str) -> None:
    result = run_clients(revision, CLIENT)[scenario]
    assert result.passed, result.told()
    # What the suite cannot see: that the program was told of it in the right way.
    end = "ended with Denied:" if scenario in REFUSED else "ended well"
    assert any(line.startswith(end) for line in result.log.splitlines()), result.told()


def test_every_scenario_of_the_suite_is_run_or_listed_with_its_reason() -> None:
    """A newer suite, or a scenario dropped here by mistake, is seen."""
    listed = set(re.findall(r"^  - (\S+)$", NOT_APPLICABLE.read_text(encoding="utf-8"), re.MULTILINE))
    expected = {
        (name, revision)
        for name, applies in scenarios()["client"].items()
        if name not in listed
        for revision in (ERAS if "extension" in applies else applies)
    }
    assert expected == set(RUNS)
    assert len(RUNS) == len(set(RUNS))
    assert listed < set(scenarios()["client"])


def test_the_page_says_what_is_run_and_what_is_not() -> None:
    page = PAGE.read_text(encoding="utf-8").partition("## Server")[0]
    for revision in REVISIONS:
        count = sum(at == revision for _, at in RUNS)
        assert f"| {revision} | {count} | {count} | 0 |" in page
    named = {name for name, _ in RUNS} | set(re.findall(r"^  - (\S+)$", NOT_APPLICABLE.read_text(encoding="utf-8"), re.MULTILINE))
    assert not {name for name in named if f"`{name}`" not in page}
