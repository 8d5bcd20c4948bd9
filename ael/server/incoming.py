"""What the headers of a call say, the same in every protocol that has such: Connect's HTTP headers and gRPC's metadata."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from ael.run.handed import handed_of
from ael.server.caller import Caller
from ael.server.dispatch import Incoming
from ael.server.guard import Refused
from ael.server.methods import Method

LONGEST_KEY = 512
_KEY = re.compile(r"[\x21-\x7e]+")
_COUNT = re.compile(r"[0-9]{1,6}")


def incoming(
    headers: Mapping[str, list[str]], caller: Caller, method: Method, deadline: float | None, *, trusts: bool
) -> Incoming:
    """A call without its body. `deadline` in seconds since the epoch; `trusts`: its client says for whom it works. Raises `Refused`."""
    key = one(headers, "idempotency-key", _KEY)
    if key is not None and len(key) > LONGEST_KEY:
        raise Refused(400, f"an `Idempotency-Key` has at most {LONGEST_KEY} characters")
    attempts = one(headers, "ael-attempts", _COUNT)
    via = one(headers, "ael-via", _KEY)
    grants = one(headers, "ael-grants", _KEY)
    try:
        said = handed_of(unquote(one(headers, "ael-given", _KEY) or ""))
    except ValueError:
        raise Refused(400, "the header `ael-given` is not as it should be") from None
    return Incoming(
        _caller(caller, headers) if trusts else caller,
        method,
        b"",
        key,
        deadline,
        one(headers, "traceparent"),
        None if attempts is None else int(attempts),
        () if via is None else tuple(via.split(",")),
        None if grants is None else frozenset(grants.split(",")),
        said,
    )


def one(headers: Mapping[str, list[str]], name: str, form: re.Pattern[str] | None = None) -> str | None:
    """The one value of a header; None where there is none. Raises `Refused` for two, and for one that has not the form."""
    given = headers.get(name, [])
    if not given:
        return None
    if len(given) > 1 or (form is not None and not form.fullmatch(given[0])):
        raise Refused(400, f"the header `{name}` is not as it should be")
    return given[0]


def _caller(caller: Caller, headers: Mapping[str, list[str]]) -> Caller:
    tenant, name = one(headers, "ael-tenant"), one(headers, "ael-caller")
    return Caller(unquote(name or caller.name), unquote(tenant or caller.tenant))
