"""How a deployment binds a scripted model: `scripted("answers.json")`, or turns given inline."""

from __future__ import annotations

from ael.models.registry import Binding, BindingError, ProviderInfo
from ael.models.script import ScriptError, load_script
from ael.models.scripted import ScriptedProvider


def create(binding: Binding, info: ProviderInfo) -> ScriptedProvider:
    """The scripted model of a binding. Raises `BindingError`."""
    script = binding.script
    if script is None:
        if binding.path is None:
            raise BindingError('a scripted model needs a script: `scripted("answers.json")`, or a list of turns')
        try:
            script = load_script(binding.path, binding.declared or binding.model)
        except ScriptError as problem:
            raise BindingError(str(problem)) from None
    return ScriptedProvider(script, name=info.name)
