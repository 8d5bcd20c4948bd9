"""Serving a program to others, the optional packages `server/connect` and `server/mcp`. Loaded by what serves or describes it alone."""
