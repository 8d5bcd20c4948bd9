"""What each sample has of its own: empty stores, scripted models from their first turn, a copy of the folder and of the knowledge."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ael.data import replace
from ael.evals.cases import Case
from ael.hosting.failure import HostError
from ael.hosting.models import bind_model
from ael.hosting.natives import bind_natives
from ael.hosting.secrets import NoSecrets, Secrets
from ael.project.bind_files import FilesBinding
from ael.project.knowledge import KnowledgeBinding
from ael.project.program import Opened
from ael.run.bindings import Bindings, BoundModel
from ael.run.store import MemoryStore
from ael.run.stored import StorePort

MAX_FOLDER_BYTES = 256 << 20
MAX_FOLDER_FILES = 50_000
"""A larger folder is not copied for each sample: such an evaluation is refused."""
_TOPICS = ("std:files.", "std:code.", "std:process.", "std:knowledge.")


def own_models(opened: Opened, models: Mapping[str, BoundModel]) -> dict[str, BoundModel]:
    """The models of one sample: a script begins anew in each, so that no sample takes another's turns. The others are shared."""
    made = dict(models)
    for name in models:
        spec, binding = opened.program.models[name], opened.deployment.models.get(name)
        # What records a script is one for all samples, as its file is.
        if (binding.provider if binding is not None else spec.provider) == "scripted":
            made[name] = bind_model(opened, spec, NoSecrets(opened.deployment))
    return made


async def own_stores(names: Mapping[str, object], case: Case, tenant: str) -> dict[str, StorePort]:
    """The stores of one sample, in memory, with what its case puts there."""
    made: dict[str, StorePort] = {name: MemoryStore() for name in names}
    for name, kept in case.stores.items():
        own = made[name].of(tenant)
        for key, value in kept.items():
            await own.put(key, value, f"eval {key}")
    return made


def needs_copies(opened: Opened, names: frozenset[str]) -> bool:
    """Whether what is reached works on a folder or on documents."""
    tools = opened.program.tools
    return any((tools[name].extern or "").startswith(_TOPICS) for name in names if name in tools)


@contextmanager
def own_natives(
    opened: Opened, names: frozenset[str], base: Bindings
) -> Iterator[tuple[Mapping[str, Callable[..., object]], list[object]]]:
    """The effects of the standard library over copies that are gone afterwards, and what has to be closed. Raises `HostError`."""
    deployment = opened.deployment
    with TemporaryDirectory(prefix="ael-eval-", ignore_cleanup_errors=True) as place:
        natives = dict(deployment.natives)
        files = natives.get("files")
        if isinstance(files, FilesBinding):
            target = Path(place, "folder")
            copy_folder(Path(deployment.folder, files.folder), target)
            natives["files"] = replace(files, folder=str(target))
        knowledge = natives.get("knowledge", KnowledgeBinding())
        if isinstance(knowledge, KnowledgeBinding) and knowledge.kind == "sqlite":
            file = Path(deployment.folder, knowledge.path)
            own = Path(place, "knowledge.db")
            if file.is_file():
                shutil.copyfile(file, own)
            natives["knowledge"] = replace(knowledge, path=str(own))
        alone = replace(opened, deployment=replace(deployment, natives=natives))
        functions, opened_now = bind_natives(alone, names, Secrets(alone.deployment), base.clock)
        yield {**base.externs, **functions}, list(opened_now)


def copy_folder(source: Path, target: Path) -> None:
    """Copy a folder; links stay links. Raises `HostError` for one that is not there or too large."""
    size = files = 0
    if not source.is_dir():
        raise HostError("AEL0830", f"the folder `{source}` of the deployment is not there")
    for where, _, names in os.walk(source):
        for name in names:
            files += 1
            try:
                size += os.lstat(Path(where, name)).st_size
            except OSError:
                continue
        if size > MAX_FOLDER_BYTES or files > MAX_FOLDER_FILES:
            raise HostError(
                "AEL0954",
                f"the folder `{source}` is too large to be copied for each sample: more than {MAX_FOLDER_BYTES >> 20} MiB, "
                f"or {MAX_FOLDER_FILES:,} files",
                'give the evaluation a deployment with a smaller folder: `deployment = "eval"`',
            )
    shutil.copytree(source, target, symlinks=True, ignore_dangling_symlinks=True)
