"""Documentation (AEL114x, of `ael doc --check` and `ael test --doc`): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL1141": "a public declaration that nothing says anything about",
    "AEL1142": "a name in a doc comment that means nothing there",
    "AEL1143": "a link in a doc comment that leads nowhere",
    "AEL1144": "an example that does not hold",
}
