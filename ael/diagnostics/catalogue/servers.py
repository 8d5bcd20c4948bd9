"""MCP servers, as the check sees them (AEL12xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL1201": "a lock that cannot be read",
    "AEL1202": "a pin that does not fit its digest",
    "AEL1203": "an MCP server that is not pinned",
    "AEL1204": "a tool that is not pinned",
    "AEL1205": "a definition without an exact type",
    "AEL1206": "a tool that runs only as a task",
    "AEL1207": "a wrong setting of an MCP server",
    "AEL1208": "a wrong address of an MCP server",
    "AEL1209": "a URI of a resource that is none",
    "AEL1210": "a tool of a server that is used twice",
    "AEL1211": "a name that an MCP server does not have",
    "AEL1212": "two types of a server with one name",
    "AEL1220": "a repeat safety that a server denies",
    "AEL1221": "a reading tool that may not be repeated",
    "AEL1222": "a long description of a tool",
    "AEL1223": "a tool that a provider cannot be told",
}
