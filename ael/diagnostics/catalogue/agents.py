"""Agents and edges (AEL13xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL1301": "an edge to what is no node",
    "AEL1302": "an edge at the wrong end",
    "AEL1303": "a node that nothing leads to",
    "AEL1304": "a dead end",
    "AEL1305": "a way round without a bound",
    "AEL1306": "an output that may not be there",
    "AEL1307": "edges that leave open which is taken",
    "AEL1308": "a join that can wait for ever",
    "AEL1309": "branches that meet without a join",
    "AEL1310": "an error that cannot come",
    "AEL1311": "an `each` that goes over nothing",
    "AEL1312": "an edge that does not say what it carries",
    "AEL1313": "two things of one name in an edge",
    "AEL1314": "a bound of an edge of the wrong form",
}
