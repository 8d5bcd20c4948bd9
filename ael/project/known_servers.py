"""Public MCP servers that a deployment can name in one word: the program that runs each, at the version that was tried (feature A9.26)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

KNOWN: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "fetch": ("uvx", "mcp-server-fetch@2026.10.24"),
        "filesystem": ("npx", "--yes", "@modelcontextprotocol/server-filesystem@2026.8.31"),
        "git": ("uvx", "mcp-server-git@2026.10.19"),
        "memory": ("npx", "--yes", "@modelcontextprotocol/server-memory@2026.8.31"),
        "playwright": ("npx", "--yes", "@playwright/mcp@0.0.83", "--headless", "--isolated"),
        "sequential-thinking": ("npx", "--yes", "@modelcontextprotocol/server-sequential-thinking@2026.8.31"),
        "time": ("uvx", "mcp-server-time@2026.10.19"),
    }
)
"""Name -> the words that start it, for `stdio`. What the deployment's line says after the name follows them."""
