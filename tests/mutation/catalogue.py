"""All mutations, and the kinds of faults that must have one."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import tests.mutation as package
from tests.mutation.mutation import Mutation

KINDS = frozenset(f"K{number:02}" for number in (*range(1, 17), 18, 19, 21, 22, 23, *range(25, 54)))
"""What the language, its run time and its tools so far have to exclude."""

_OWN = frozenset({"__main__", "catalogue", "mutation", "runner", "server", "test_mutation"})


def _found() -> tuple[Mutation, ...]:
    """Those of every module beside this one."""
    names = sorted(module.name for module in iter_modules(package.__path__) if module.name not in _OWN)
    return tuple(one for name in names for one in import_module(f"tests.mutation.{name}").MUTATIONS)


MUTATIONS = _found()
