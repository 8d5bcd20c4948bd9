"""MCP servers in runs: the keeper of connections, and programs against real servers over loopback and pipes."""
