"""Serving a program to others, the optional package `server/mcp`. Loaded only by `ael serve`, after the pack was seen to list it."""
