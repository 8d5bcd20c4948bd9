"""The settings of a model that mean something to AEL itself, read strictly; all others go to the provider as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ael.models.registry import Binding, BindingError
from ael.net.address import AddressRules, Endpoint, parse_endpoint, rules
from ael.net.client import Timeouts, header_line
from ael.net.failure import NetError

OWN = frozenset(
    {
        *("output", "stream", "window", "max_output", "connect_timeout", "first_timeout", "idle_timeout"),
        *("headers", "extra", "cache", "thinking", "endpoint", "inner", "region"),
    }
)
"""Settings that are not fields of a request."""


@dataclass(frozen=True, slots=True)
class Common:
    """What every provider over HTTP reads from a binding."""

    endpoint: Endpoint
    allowed: AddressRules
    timeouts: Timeouts
    window: int | None
    max_output: int
    stream: bool
    headers: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, object] = field(default_factory=dict)


def common(binding: Binding, default_endpoint: str | None, default_max_output: int) -> Common:
    """Read a binding. Raises `BindingError`, naming the setting and what it takes.

    The endpoint is the deployment's word or the provider's own, so its host counts as listed; where it leads to is checked all
    the same.
    """
    url = binding.endpoint or default_endpoint
    if url is None:
        raise BindingError(
            f'the provider `{binding.provider}` needs an endpoint: `endpoint: "https://…"` in the deployment\'s binding'
        )
    settings = binding.settings
    try:
        allowed = rules(binding.hosts | _own_host(url))
        endpoint = parse_endpoint(url, allowed)
    except NetError as problem:
        raise BindingError(problem.message) from None
    return Common(
        endpoint,
        allowed,
        Timeouts(
            _seconds(settings, "connect_timeout", 10.0),
            _seconds(settings, "first_timeout", 600.0),
            _seconds(settings, "idle_timeout", 300.0),
        ),
        _count(settings, "window", None),
        _count(settings, "max_output", None) or default_max_output,
        _flag(settings, "stream", True),
        _headers(settings.get("headers")),
        _map(settings, "extra"),
    )


def wire_settings(settings: Mapping[str, object]) -> dict[str, object]:
    """The settings that are fields of a request."""
    return {name: value for name, value in settings.items() if name not in OWN}


def _own_host(url: str) -> frozenset[str]:
    scheme, _, rest = url.partition("://")
    authority = rest.partition("/")[0]
    host = authority.rpartition("@")[2]
    bare = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return frozenset({bare.lower()} if scheme and bare else ())


def _seconds(settings: Mapping[str, object], name: str, default: float) -> float:
    value = settings.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 86_400:
        total = getattr(value, "total_seconds", None)
        if total is None:
            raise BindingError(f"the setting `{name}` takes a duration of at most a day, such as 30s")
        return float(total())
    return float(value)


def _count(settings: Mapping[str, object], name: str, default: int | None) -> int | None:
    value = settings.get(name, default)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        return value
    raise BindingError(f"the setting `{name}` takes a number of tokens above 0")


def _flag(settings: Mapping[str, object], name: str, default: bool) -> bool:
    value = settings.get(name, default)
    if isinstance(value, bool):
        return value
    raise BindingError(f"the setting `{name}` takes true or false")


def _map(settings: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = settings.get(name, {})
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return value
    raise BindingError(f"the setting `{name}` takes a map")


def _headers(value: object) -> Mapping[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise BindingError("the setting `headers` takes a map of texts")
    found: dict[str, str] = {}
    for name, text in value.items():
        if not isinstance(text, str):
            raise BindingError("the setting `headers` takes a map of texts")
        try:
            header_line(str(name), text)
        except ValueError as problem:
            raise BindingError(str(problem)) from None
        found[str(name)] = text
    return found
