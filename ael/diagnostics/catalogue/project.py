"""Packs, deployments and the command line (AEL08xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL0801": "a file cannot be read",
    "AEL0802": "no such module",
    "AEL0803": "not one pack in `pack.ael`",
    "AEL0804": "no such optional package",
    "AEL0805": "too many modules",
    "AEL0810": "a deployment binds a name that the program does not have",
    "AEL0811": "no such word in a deployment",
    "AEL0812": "a deployment holds constants",
    "AEL0813": "bound twice",
    "AEL0814": "a binding of the wrong form",
    "AEL0815": "a key written in a file",
    "AEL0816": "a service bound to no provider",
    "AEL0817": "a deployment that loosens",
    "AEL0830": "a model that cannot be used",
    "AEL0831": "a secret that is not there",
    "AEL0832": "a tool without an implementation",
    "AEL0833": "runs in PostgreSQL without its package",
    "AEL0834": "traces that cannot be sent",
    "AEL0840": "no such entry",
    "AEL0841": "an input that does not fit",
    "AEL0842": "an MCP server that nothing binds",
    "AEL0843": "a wrong address of an MCP server in a deployment",
    "AEL0844": "a program that may not be started",
    "AEL0845": "a child process without its package",
    "AEL0846": "a dangerous variable",
    "AEL0848": "a tool filter for a tool that is not there",
}
