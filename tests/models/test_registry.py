"""Providers by name, what a binding must have, and what is loaded when."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta

import pytest

from ael.models.registry import PROVIDERS, Binding, BindingError, info, open_provider
from ael.models.settings import common
from ael.types.dialect import DIALECTS
from ael.types.value import Secret
from tests.models.support import KEY

SECRET = Secret("KEY", KEY)


def test_every_provider_has_a_dialect_and_a_module_that_loads() -> None:
    for name, described in PROVIDERS.items():
        assert described.name == name
        assert described.dialect in DIALECTS
        __import__(described.module)


@pytest.mark.parametrize("name", sorted(name for name, described in PROVIDERS.items() if described.endpoint is not None))
def test_every_endpoint_is_allowed_and_opens(name: str) -> None:
    provider = open_provider(Binding(name, "m", key=SECRET))
    assert provider.max_output > 0
    assert provider.window is None


@pytest.mark.parametrize("name", sorted(name for name, described in PROVIDERS.items() if described.needs_key))
def test_a_missing_key_names_the_variable(name: str) -> None:
    variable = info(name).key_variable
    assert variable is not None
    with pytest.raises(BindingError, match=variable):
        open_provider(Binding(name, "m"))


def test_an_unknown_provider_lists_the_known_ones() -> None:
    with pytest.raises(BindingError, match=r"no provider is called `opnai`; there are anthropic, .*openai"):
        open_provider(Binding("opnai", "m"))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"window": 0}, "window"),
        ({"window": "large"}, "window"),
        ({"max_output": True}, "max_output"),
        ({"stream": "no"}, "stream"),
        ({"idle_timeout": -1}, "idle_timeout"),
        ({"first_timeout": "soon"}, "first_timeout"),
        ({"headers": []}, "headers"),
        ({"headers": {"x": 1}}, "headers"),
        ({"headers": {"x": "a\r\nb: c"}}, "header"),
        ({"headers": {"host": "evil"}}, "header"),
        ({"extra": 7}, "extra"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, object], told: str) -> None:
    with pytest.raises(BindingError, match=told):
        open_provider(Binding("openai", "m", key=SECRET, settings=settings))


def test_times_are_numbers_or_durations() -> None:
    read = common(
        Binding("openai", settings={"idle_timeout": timedelta(seconds=3), "connect_timeout": 2}), "https://api.openai.com/v1", 10
    )
    assert (read.timeouts.idle, read.timeouts.connect) == (3.0, 2.0)


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://user:hunter2@127.0.0.1/v1",
        "ftp://x",
        "http://2130706433/v1",
        "https://0x7f.1/",
        "not a url",
        "",
        "http://169.254.169.254.nip.io:x",
    ],
)
def test_a_wrong_endpoint_is_refused_without_showing_it(endpoint: str) -> None:
    """K41, K42."""
    with pytest.raises(BindingError) as caught:
        open_provider(Binding("vllm", "m", endpoint=endpoint or "x", key=SECRET))
    assert "hunter2" not in str(caught.value)


def test_the_deployments_own_endpoint_counts_as_listed() -> None:
    for endpoint in ("http://127.0.0.1:11434/v1", "http://10.0.0.7:8000/v1", "http://models.internal/v1", "http://[::1]:8080"):
        open_provider(Binding("vllm", "m", endpoint=endpoint))


def loaded_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"], capture_output=True, text=True, check=True
    )  # fmt: skip
    return set(done.stdout.split())


def test_only_what_is_used_is_loaded() -> None:
    """Starting fast: the registry loads no adapter, an adapter neither the other nor a price library nor an engine."""
    registry = loaded_after("import ael.models.registry")
    assert not registry & {"asyncio", "ssl", "httptools", "jiter", "ael.models.openai", "ael.net.client", "aiohttp", "pydantic"}
    openai = loaded_after(
        "from ael.models.registry import Binding, open_provider\nfrom ael.types.value import Secret\n"
        "open_provider(Binding('openai', 'm', key=Secret('k', 'k' * 9)))"
    )
    assert "ael.models.openai" in openai
    assert not openai & {
        "aiohttp",
        "httpx2",
        "pydantic",
        "genai_prices",
        "xllamacpp",
        "ael.models.anthropic",
        "email",
        "http.client",
    }
    scripted = loaded_after("import ael.models.scripted_binding")
    assert not scripted & {"httptools", "ssl_context", "ael.net.client", "jiter"}
    prices = loaded_after("from ael.models.prices import PriceTable\nassert PriceTable().price('openai', 'gpt-5-mini')")
    assert not prices & {"genai_prices", "pydantic"}
