"""Packs that depend on packs (AEL080x, AEL082x): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL0806": "two packs of one name",
    "AEL0807": "packs that depend on each other in a circle",
    "AEL0808": "not a version",
    "AEL0809": "a dependency that is not there",
    "AEL0820": "a dependency of another version",
    "AEL0821": "a dependency of another name",
    "AEL0822": "what a dependency uses and the program does not list",
    "AEL0823": "a module that belongs to another pack",
    "AEL0824": "a dependency that is not as it was locked",
    "AEL0825": "a permission in the name of another pack",
    "AEL0826": "an optional package that the pack does not list",
    "AEL0827": "a provider of a dependency that may do more than its callers",
    "AEL0828": "a program that cannot be bundled",
    "AEL0829": "a bundle that is not installed",
}
