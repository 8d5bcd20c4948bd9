"""The client under test of the MCP conformance suite: `python -m tests.external.conformance_client URL`.

A thin driver around what AEL itself uses, `open_session` and the authorizers: it lists what there is, calls each tool, reads each
resource, gets each prompt, and exits with 0 if all of that ended well. The suite says in variables which scenario and revision it runs.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import urllib.request
from collections.abc import Mapping
from typing import Any

from ael.mcp import oauth
from ael.mcp.endpoint import Authorizer, HttpEndpoint
from ael.mcp.failure import McpError
from ael.mcp.session import Elicitation, ElicitationReply, Session, open_session
from ael.types.value import Secret

HOSTS = frozenset({"localhost", "127.0.0.1"})
DEADLINE = 60.0
CLIENT_DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""The client id that the suite expects where a server takes client id metadata documents."""


class Listener:
    """Says yes to every question, with nothing filled in."""

    def changed(self, what: str) -> None:
        pass

    async def elicit(self, question: Elicitation) -> ElicitationReply:
        return ElicitationReply("accept", {})

    def log(self, level: str, text: str) -> None:
        print(f"{level}: {text}", file=sys.stderr)


async def visit(url: str) -> None:
    """The browser of a user who says yes: follows the redirects, back to this program."""
    await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=DEADLINE).read())


def authorizer(url: str, scenario: str, context: Mapping[str, Any]) -> Authorizer | None:
    """The credential that a deployment would give for the scenario."""
    if not scenario.startswith("auth/"):
        return None
    facts = oauth.ServerFacts(url, hosts=HOSTS, issuer=context.get("issuer"))
    match scenario.removeprefix("auth/"):
        case "client-credentials-basic":
            return oauth.client_credentials(facts, context["client_id"], secret=Secret("secret", context["client_secret"]))
        case "client-credentials-jwt":
            key = oauth.SigningKey(Secret("key", context["private_key_pem"]), context["signing_algorithm"])
            return oauth.client_credentials(facts, context["client_id"], key=key)
        case "wif-jwt-bearer":
            return oauth.workload_identity(facts, context["client_id"], Secret("identity", context["valid_jwt"]))
        case "enterprise-managed-authorization":
            return oauth.enterprise_managed(
                facts,
                context["client_id"],
                Secret("secret", context["client_secret"]),
                provider=context["idp_token_endpoint"],
                provider_id=context["idp_client_id"],
                identity=Secret("identity", context["idp_id_token"]),
            )
        case "pre-registration":
            return oauth.authorization_code(
                facts, visit, id=context["client_id"], secret=Secret("secret", context["client_secret"])
            )
        case "basic-cimd":
            return oauth.authorization_code(facts, visit, document=CLIENT_DOCUMENT)
        case "dpop" | "dpop-nonce":
            return oauth.authorization_code(facts, visit, bound=True)
        case _:
            return oauth.authorization_code(facts, visit)


def sample(schema: Mapping[str, Any]) -> Any:
    """A value for a parameter."""
    match schema.get("type"):
        case "object":
            return {
                name: sample(part) for name, part in schema.get("properties", {}).items() if name in schema.get("required", [])
            }
        case "integer" | "number":
            return 2
        case "boolean":
            return True
        case "array":
            return []
        case _:
            return "text"


async def use(session: Session, scenario: str, context: Mapping[str, Any]) -> None:
    """Ask for everything that the server has."""
    tools = await session.listing("tools", deadline=DEADLINE)
    if scenario == "json-schema-ref-no-deref":
        # Its server only lists: what counts is what the client asks for while it reads the schemas.
        return
    by_name = {str(tool["name"]): tool for tool in tools}
    wanted: list[dict[str, Any]] = context.get("toolCalls") or [
        {"name": name, "arguments": arguments(by_name, tool)} for name, tool in by_name.items()
    ]
    for call in wanted:
        await session.call(call["name"], call["arguments"], meta={}, deadline=DEADLINE)
    for resource in await session.listing("resources", deadline=DEADLINE):
        await session.read(str(resource["uri"]), meta={}, deadline=DEADLINE)
    for prompt in await session.listing("prompts", deadline=DEADLINE):
        await session.prompt(str(prompt["name"]), {}, meta={}, deadline=DEADLINE)


def arguments(tools: Mapping[str, Mapping[str, Any]], tool: Mapping[str, Any]) -> Any:
    """What to call a tool with. `json_schema_echo` is to be given the schema of another tool, as it was listed."""
    if tool["name"] == "json_schema_echo":
        [other] = [found for name, found in tools.items() if name != "json_schema_echo"]
        return {"schema": other["inputSchema"]}
    return sample(tool["inputSchema"])


async def main(url: str) -> None:
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    endpoint = HttpEndpoint(url, authorizer=authorizer(url, scenario, context), hosts=HOSTS)
    session = await open_session(endpoint, Listener(), connect=DEADLINE, elicitation=True)
    try:
        await use(session, scenario, context)
    finally:
        await session.close()


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[1]))
    except McpError as problem:
        print(f"ended with {problem.kind.value}: {problem.message}")
        sys.exit(1)
    print("ended well")
