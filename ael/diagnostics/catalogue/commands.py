"""Commands that reach MCP servers (AEL086x): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL0860": "no such MCP server",
    "AEL0861": "an MCP server that cannot be reached",
    "AEL0862": "what a program uses cannot be pinned",
    "AEL0863": "a pinned definition that changed",
    "AEL0864": "no such tool of a server",
    "AEL0865": "arguments that do not fit a tool",
    "AEL0866": "a call without a yes",
}
