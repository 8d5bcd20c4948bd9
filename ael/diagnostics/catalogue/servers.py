"""MCP servers, as the check sees them (AEL12xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL1201": "a lock that cannot be read",
    "AEL1202": "a pin that does not fit its digest",
    "AEL1207": "a wrong setting of an MCP server",
    "AEL1208": "a wrong address of an MCP server",
}
