"""MCP servers as a program uses them: transports, sessions of both protocol eras, credentials, pinned definitions."""
