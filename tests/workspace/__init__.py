"""The folder of a program: nothing leads out of it, nothing is half written, and a coding agent's tools over it."""
