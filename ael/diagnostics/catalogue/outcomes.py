"""How a run ends (AEL09xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL0901": "a run that failed with a declared error",
    "AEL0902": "a run that ended with a fault",
    "AEL0903": "a run whose outcome is uncertain",
    "AEL0904": "runs whose store cannot be used, or that another worker took",
    "AEL0905": "something asked of runs that cannot be done",
    "AEL0906": "a run that keeps another program, or other bindings",
    "AEL0907": "a proof of crashes that could not be made",
    "AEL0908": "a promise that a crashed run did not keep",
    "AEL0909": "a run that a worker does not bring to its end",
}
