"""The customer records of the shop, as a server of the Model Context Protocol over standard input and output. Plain Python, no packages."""

import json
import sys
from typing import Any

CUSTOMERS = {"c-1": {"name": "Ada Lind", "since": "2024-01-31"}}

TOOLS = [
    {
        "name": "get_customer",
        "description": "Read what the shop knows of a customer. Call this when the answer depends on who asks.",
        "inputSchema": {
            "type": "object",
            "properties": {"id": {"type": "string", "maxLength": 120}},
            "required": ["id"],
            "additionalProperties": False,
        },
        "outputSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "maxLength": 200},
                "since": {"type": "string", "format": "date"},
            },
            "required": ["name", "since"],
            "additionalProperties": False,
        },
    },
    {
        "name": "create_ticket",
        "description": "Open a ticket for a person to work on. Only when nothing else helps.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "customer": {"type": "string", "maxLength": 120},
                "subject": {"type": "string", "maxLength": 200},
            },
            "required": ["customer", "subject"],
            "additionalProperties": False,
        },
        "outputSchema": {
            "type": "object",
            "properties": {"number": {"type": "integer", "minimum": 1}},
            "required": ["number"],
            "additionalProperties": False,
        },
    },
]


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The result of a tool."""
    if name == "create_ticket":
        found: dict[str, Any] = {"number": 1}
    elif arguments["id"] in CUSTOMERS:
        found = CUSTOMERS[arguments["id"]]
    else:
        return {"content": [{"type": "text", "text": f"there is no customer {arguments['id']}"}], "isError": True}
    return {"content": [{"type": "text", "text": json.dumps(found)}], "structuredContent": found}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; None for a method that is not served."""
    match method:
        case "initialize":
            server = {"name": "crm", "version": "1.0"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
        case "ping":
            return {}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            return call(params["name"], params["arguments"])
        case _:
            return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = answer(message["method"], message.get("params", {}))
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    reply |= {"result": result} if result is not None else {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps(reply), flush=True)
