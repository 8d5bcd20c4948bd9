"""Placements where calls wait for a worker: `nats("nats://host:4222", token: secret("T"))` and `postgres(secret("URL"))`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ael.check.url import url_problem
from ael.data import replace
from ael.project.bind_options import COMMON, certified, options, provider, token
from ael.project.bind_state import ProgramState
from ael.project.form import text_of
from ael.project.literal import Construct
from ael.project.queues import QueueBinding
from ael.project.wrong import Wrong
from ael.syntax import nodes as n

QUEUES = ("nats", "postgres")
FORMS: Mapping[str, str] = {
    "nats": '`nats("nats://host:4222", token: secret("TOKEN"))`',
    "postgres": '`postgres(secret("QUEUE_DB"))`',
}
_SIZES = ("room", "in_flight", "slots", "deliveries", "lease", "keep", "provider", *COMMON)
_OPTIONS: Mapping[str, tuple[str, ...]] = {"nats": ("token", "authority", "certificate", "key", *_SIZES), "postgres": _SIZES}
_ADDRESS = re.compile(r"(nats|tls)://([^/?#]+)/?")
_SCHEMES = {"nats": "http", "tls": "https"}


def queue(state: ProgramState, found: Construct, node: n.Expr, name: str) -> QueueBinding:
    """The queue of the service or node `name`. Raises `Wrong`."""
    read = options(found, _OPTIONS[found.name], node)
    chosen = {"provider": read.pop("provider")} if "provider" in read else {}
    made = _nats(state, found, node, read) if found.name == "nats" else _postgres(state, found, node, read)
    made = replace(made, provider=provider(state, chosen, node, name, found.name))
    if made.slots > made.in_flight:
        message = f"a worker takes up to {made.slots} items, and all workers together {made.in_flight}"
        raise Wrong("AEL0814", message, node, f"say `in_flight: {made.slots}`, or fewer `slots`")
    return made


def _nats(state: ProgramState, found: Construct, node: n.Expr, read: dict[str, object]) -> QueueBinding:
    url = found.positional[0] if len(found.positional) == 1 else None
    if not isinstance(url, str):
        raise Wrong("AEL0814", "`nats` takes one address", node, f"it is written {FORMS['nats']}")
    form = _ADDRESS.fullmatch(url)
    if form is None:
        raise Wrong("AEL0850", "NATS is reached by a host and a port alone", node, f"it is written {FORMS['nats']}")
    problem = url_problem(f"{_SCHEMES[form[1]]}://{form[2]}", state.hosts, "a queue")
    if problem is not None:
        note = problem.note.replace("https://", "tls://").replace("`http`", "`nats`").replace("`https`", "`tls`")
        raise Wrong("AEL0815" if problem.secret else "AEL0850", problem.message, node, note)
    named = token(state, read, node)
    certified(read, node)
    return QueueBinding("nats", url, named, **read)  # type: ignore[arg-type]


def _postgres(state: ProgramState, found: Construct, node: n.Expr, read: dict[str, object]) -> QueueBinding:
    given = found.positional[0] if len(found.positional) == 1 else None
    secret = text_of(given) if isinstance(given, Construct) and given.name == "secret" else None
    if secret is None:
        note = f'it is written {FORMS["postgres"]}, and where that comes from: `secret QUEUE_DB = env("QUEUE_DB")`'
        raise Wrong("AEL0815", "the address of a database is a named secret, since it holds a password", node, note)
    state.want(secret, node)
    return QueueBinding("postgres", secret=secret, **read)  # type: ignore[arg-type]
