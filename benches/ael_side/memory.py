"""Runs of the same node that wait on the model (`memory`)."""

from __future__ import annotations

from benches.ael_side.http import ADDRESS, classify
from benches.peers import scenario

OPS = {"memory": scenario.memory_op(ADDRESS, classify())}
