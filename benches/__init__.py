"""Benchmarks of AEL beside its peers: ``python -m benches [NAME...] [--json]``."""
