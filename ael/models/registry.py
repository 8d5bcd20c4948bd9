"""Which providers there are, and how a deployment's word becomes one. Every adapter is a module of its own, loaded when it is
used.

A binding comes from the deployment alone: neither a program nor run data chooses an endpoint or a key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Literal, Protocol

from ael.models.script import Script
from ael.run.ports import ModelProvider
from ael.types.value import Secret


@dataclass(frozen=True, slots=True)
class Binding:
    """A model as a deployment binds it.

    `provider` a name of `PROVIDERS`; `model` the provider's name for it; `declared` the name in the program (chooses from a
    script file);
    `endpoint` the base URL (None: the provider's own); `key` its secret; `settings` from program and deployment, merged; `path`
    the file
    of a script or recording; `script` a script given inline; `hosts` further hosts that the deployment lists as reachable;
    `inner` the
    model that a recording records.
    """

    provider: str
    model: str = ""
    declared: str = ""
    endpoint: str | None = None
    key: Secret | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    path: Path | None = None
    script: Script | None = None
    hosts: frozenset[str] = frozenset()
    inner: Binding | None = None


class BindingError(ValueError):
    """A binding that no provider can be made from; the message says what is missing and where it belongs."""


class ProviderModule(Protocol):
    """What an adapter module gives."""

    def create(self, binding: Binding, info: ProviderInfo) -> ModelProvider:
        """Make the provider. Raises `BindingError`; sends nothing."""


DialectName = Literal["openai", "anthropic", "compatible", "none"]
"""A name of `ael.types.dialect.DIALECTS`. It says the wire habits too: all but OpenAI itself get the careful ones
(`ael/models/openai.py`).
"""


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    """A provider: its adapter, its endpoint, the environment variable that usually holds its key, and the name that prices go
    by.
    """

    name: str
    module: str
    dialect: DialectName = "none"
    endpoint: str | None = None
    key_variable: str | None = None
    needs_key: bool = False
    prices: str | None = None


def _wire(
    name: str, dialect: DialectName, endpoint: str, variable: str, module: str = "openai", prices: str | None = None
) -> ProviderInfo:
    return ProviderInfo(name, f"ael.models.{module}", dialect, endpoint, variable, True, prices or name)


PROVIDERS: Mapping[str, ProviderInfo] = {
    info.name: info
    for info in (
        _wire("openai", "openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        _wire("anthropic", "anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "anthropic"),
        _wire("openrouter", "compatible", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        _wire("groq", "compatible", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
        _wire("mistral", "compatible", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
        _wire("deepseek", "compatible", "https://api.deepseek.com", "DEEPSEEK_API_KEY"),
        _wire(
            "gemini", "compatible", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", prices="google"
        ),
        ProviderInfo("ollama", "ael.models.openai", "compatible", "http://127.0.0.1:11434/v1", prices="ollama"),
        ProviderInfo("vllm", "ael.models.openai", "compatible", "http://127.0.0.1:8000/v1", "VLLM_API_KEY"),
        ProviderInfo("llamacpp", "ael.models.openai", "compatible", "http://127.0.0.1:8080/v1", "LLAMA_API_KEY"),
        ProviderInfo("local", "ael.models.local", "compatible"),
        ProviderInfo("scripted", "ael.models.scripted_binding"),
        ProviderInfo("replay", "ael.models.replay"),
        ProviderInfo("recorded", "ael.models.replay"),
    )
}
"""The providers by name. `recorded` wraps the model that a binding calls `inner`."""


def info(name: str) -> ProviderInfo:
    """The provider of this name. Raises `BindingError` with the known names."""
    found = PROVIDERS.get(name)
    if found is None:
        raise BindingError(f"no provider is called `{name}`; there are {', '.join(sorted(PROVIDERS))}")
    return found


def open_provider(binding: Binding) -> ModelProvider:
    """The provider of a binding. Loads its adapter; sends nothing. Raises `BindingError`."""
    described = info(binding.provider)
    if described.needs_key and binding.key is None:
        variable = described.key_variable or "a secret"
        raise BindingError(
            f"the provider `{described.name}` needs a key: set {variable}, or give `key: secret(…)` in the deployment's binding"
        )
    module: ProviderModule = import_module(described.module)
    return module.create(binding, described)
