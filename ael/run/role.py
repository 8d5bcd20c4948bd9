"""Who may decide for a role: the members that a deployment names (language.md, section 6)."""

from __future__ import annotations

from collections.abc import Mapping

from ael.run.ports import ApprovalRequest, Decision


def not_a_member(request: ApprovalRequest, user: str, members: Mapping[str, tuple[str, ...]]) -> Decision | None:
    """The refusal for somebody who does not have the role that decides; `local` in a role means whoever runs the program."""
    if request.role is None:
        return None
    known = members.get(request.role)
    if known is None:
        return Decision(False, user, f"the deployment does not say who `{request.role}` is")
    if user in known or "local" in known:
        return None
    return Decision(False, user, f"`{user}` is not in the role `{request.role}`")
