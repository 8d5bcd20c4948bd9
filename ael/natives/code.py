"""The effects of `std/code`: what a coding agent reads, edits and runs in the folder that its deployment gives it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from ael.natives.code_search import find_lines, find_paths
from ael.natives.code_text import Edited, difference, edited, form_of, lines_of, view
from ael.natives.files import workspace
from ael.natives.process import finished, in_time, limits, settings
from ael.natives.sandbox import Command, Finished, NotStarted
from ael.natives.sandbox_programs import NoProgram, find
from ael.natives.workspace import Workspace, decoded, version_of
from ael.natives.workspace_names import HISTORY, shown
from ael.natives.workspace_write import changing, make_folder, put, stale
from ael.natives.world import Functions, World
from ael.project.bind_files import CodeBinding
from ael.run.ports import CallContext
from ael.run.preview import previewed
from ael.types.fault import Failure, Fault, FaultKind

_SHELL = "/bin/sh"
_GIT = {
    "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.bareRepository", "GIT_CONFIG_VALUE_0": "explicit",
}  # fmt: skip
"""What git takes its settings from: the project's own `.git`, which no tool writes, and not a `.gitconfig` or a repository without a
`.git` (`HEAD`, `config`, `objects`, `refs`) that lies in the folder. A setting can name a program, which `git status` would start."""
_MOST_OUTPUT = 40_000
"""Characters of what a command said that are given."""


def natives(world: World) -> Functions:
    """The functions by name."""
    code = Code(world)

    async def edit(path: str, version: str, old: str, new: str, every: bool, *, call: CallContext) -> dict[str, object]:
        return await code.edit(path, version, old, new, every, call)

    async def write_file(path: str, text: str, *, call: CallContext) -> dict[str, object]:
        return await code.write_file(path, text, call)

    def delete_file(path: str, version: str, *, call: CallContext) -> bool:
        return code.delete_file(path, version, call=call)

    return {
        "read_file": code.read_file,
        "glob": code.glob,
        "grep": code.grep,
        "edit": previewed(edit, code.edit_preview),
        "write_file": previewed(write_file, code.write_preview),
        "delete_file": previewed(delete_file, code.delete_preview),
        "run_tests": code.run_tests,
        "shell": code.shell,
    }


class Code:
    """The functions, over the workspace and the commands of a deployment."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._slots = asyncio.Semaphore(settings(world).concurrent)

    def _space(self, call: CallContext) -> Workspace:
        return workspace(self._world, call.tenant)

    @property
    def commands(self) -> CodeBinding:
        """What may be run: nothing, where the deployment does not say."""
        found = self._world.bindings.get("code")
        return found if isinstance(found, CodeBinding) else CodeBinding()

    # --- reading ----------------------------------------------------------------------------------------------------

    def read_file(self, path: str, first: int, count: int, *, call: CallContext) -> dict[str, object]:
        """Numbered lines of a text file, and the version that they are of."""
        content = self._space(call).read(path)
        lines = lines_of(form_of(decoded(content.data, path)).text)
        seen = view(lines, first, count)
        return {
            "path": path, "version": content.version, "text": seen.text, "first": seen.first, "last": seen.last,
            "lines": len(lines), "cut": seen.cut,
        }  # fmt: skip

    def glob(self, pattern: str, path: str, *, call: CallContext) -> dict[str, object]:
        """The files whose path fits."""
        return find_paths(self._space(call), pattern, path, call.cancelled)

    def grep(self, pattern: str, path: str, files: str, most: int, *, call: CallContext) -> dict[str, object]:
        """The lines that a pattern occurs in."""
        return find_lines(self._space(call), pattern, path, files, most, call.cancelled)

    # --- changing ---------------------------------------------------------------------------------------------------

    async def edit(self, path: str, version: str, old: str, new: str, every: bool, call: CallContext) -> dict[str, object]:
        """Replace text, and run the tests."""
        space = self._space(call)
        made = await asyncio.to_thread(self._edit, space, path, version, old, new, every)
        change = difference(path, made.before, made.after)
        return await self._changed(space, path, version_of(made.data), change, made.count, call)

    def _edit(self, space: Workspace, path: str, version: str, old: str, new: str, every: bool) -> Edited:
        with changing(space, path) as (content, change):
            made = edited(path, content.data, form_of(decoded(content.data, path)), version, old, new, every)
            if not made.already:
                change.to(made.data)
            return made

    def edit_preview(self, path: str, version: str, old: str, new: str, every: bool, *, call: CallContext) -> str:
        """The difference that an edit would make. Raises what the edit would."""
        space = self._space(call)
        space.changes(path)
        data = space.read(path).data
        made = edited(path, data, form_of(decoded(data, path)), version, old, new, every)
        return difference(path, made.before, made.after)

    async def write_file(self, path: str, text: str, call: CallContext) -> dict[str, object]:
        """Write a new file, its folders with it, and run the tests."""
        space, data = self._space(call), text.encode()
        await asyncio.to_thread(self._write, space, path, data)
        return await self._changed(space, path, version_of(data), difference(path, None, text), 1, call)

    def _write(self, space: Workspace, path: str, data: bytes) -> None:
        above = space.parts(path)[:-1]
        space.changes(path)
        if above:
            make_folder(space, "/".join(above))
        put(space, path, data, new=True)

    def write_preview(self, path: str, text: str, *, call: CallContext) -> str:
        """The new file as a difference."""
        space = self._space(call)
        space.changes(path)
        state = space.state(path)
        if state is not None and (state.st_size != len(text.encode()) or space.read(path).data != text.encode()):
            raise Failure("Exists", {"path": shown(path)})
        return difference(path, None, text)

    def delete_file(self, path: str, version: str, *, call: CallContext) -> bool:
        """Remove a file that is as it was read."""
        space = self._space(call)
        space.changes(path)
        if space.state(path) is None:
            return False
        with changing(space, path) as (content, change):
            if content.version != version:
                raise stale(path, "it is not what was read any more, or was never read: read it again")
            change.gone()
        return True

    def delete_preview(self, path: str, version: str, *, call: CallContext) -> str:
        """The text that would go."""
        space = self._space(call)
        space.changes(path)
        if space.state(path) is None:
            return f"{path} is not there"
        content = space.read(path)
        if content.version != version:
            raise stale(path, "it is not what was read any more, or was never read: read it again")
        try:
            return difference(path, form_of(decoded(content.data, path)).text, None)
        except Failure:
            return f"{path}: {len(content.data):,} bytes that are no text"

    async def _changed(
        self, space: Workspace, path: str, version: str, change: str, count: int, call: CallContext
    ) -> dict[str, object]:
        done: dict[str, object] = {"path": path, "version": version, "difference": change, "replaced": count}
        commands = self.commands
        if commands.test and commands.after_edit:
            done["tests"] = await self._tests(space, commands, call)
        return done

    # --- running ----------------------------------------------------------------------------------------------------

    async def run_tests(self, *, call: CallContext) -> dict[str, object]:
        """Run the command that the deployment fixes."""
        commands = self.commands
        if not commands.test:
            message = 'the deployment has no command for the tests: `code = commands(test: ["python3", "-m", "unittest"])`'
            raise Fault(FaultKind.UNAVAILABLE, message, final=True)
        return await self._tests(self._space(call), commands, call)

    async def _tests(self, space: Workspace, commands: CodeBinding, call: CallContext) -> dict[str, object]:
        # Tests are what the agent wrote, and nobody was asked: they change no history, and no hook that git runs for others later.
        history = tuple(space.root.resolve() / name for name in sorted(HISTORY))
        done = await self._run(space, commands.test, call, tuple(one for one in history if not one.is_symlink()))
        return {"passed": done.exit_code == 0, **_told(done)}

    async def shell(self, command: str, *, call: CallContext) -> dict[str, object]:
        """Run one line of a shell."""
        commands = self.commands
        if not commands.shell:
            raise Fault(
                FaultKind.UNAVAILABLE, "the deployment gives no shell: `code = commands(shell: true)`", final=True, sent=False
            )
        return _told(await self._run(self._space(call), (_SHELL, "-c", command), call))

    async def _run(self, space: Workspace, argv: tuple[str, ...], call: CallContext, kept: tuple[Path, ...] = ()) -> Finished:
        """Run in the sandbox of the deployment, with the workspace but for `kept` as all that it may write. Raises `Fault`."""
        binding, root = settings(self._world), space.root.resolve()
        read = tuple(Path(folder) for folder in binding.read)
        try:
            # An agent writes the workspace: no program that lies there begins a command of the deployment.
            program = find(argv[0], root, read, sandboxed=binding.sandboxed)
        except NoProgram as missing:
            raise Fault(FaultKind.UNAVAILABLE, f"`{argv[0]}` cannot be run: {missing}", final=True, sent=False) from None
        command = Command(
            root,
            (program, *argv[1:]),
            environment={**_GIT, **binding.environment},
            limits=limits(binding),
            network=binding.network,
            read=read,
            writable=space.write,
            sandboxed=binding.sandboxed,
            kept=(self._world.root, self._world.folder, *kept),
        )
        async with self._slots:
            try:
                return await finished(replace(command, limits=in_time(command.limits, call, self._world.clock)))
            except NotStarted as problem:
                raise Fault(FaultKind.UNAVAILABLE, str(problem), final=True, sent=False) from None


def _told(done: Finished) -> dict[str, object]:
    """How a command ended, as a model reads it: what was said on both outputs."""
    output = "\n".join(part.rstrip("\n") for part in (done.stdout, done.stderr) if part.strip())
    if len(output) > _MOST_OUTPUT:
        half = _MOST_OUTPUT // 2
        output = f"{output[:half]}\n… ({len(output) - 2 * half:,} characters are missing here)\n{output[-half:]}"
    return {"exit_code": done.exit_code, "output": output, "stopped": done.stopped}
