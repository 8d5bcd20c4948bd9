"""Typed clients of a served program, as source of other languages: `ael export python`, `ael export typescript`."""
