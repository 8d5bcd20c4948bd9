"""Commands: which may run, what they are told, and where they work (`ael/natives/process.py`, `ael/natives/sandbox*.py`)."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

SANDBOX = "tests/sandbox::"

MUTATIONS = (
    Mutation(
        "K41",
        "the clean environment of a command",
        "ael/natives/sandbox.py",
        "    return {**own, **command.environment}",
        "    return {**os.environ, **own, **command.environment}",
        SANDBOX + "test_the_environment_is_clean",
    ),
    Mutation(
        "K41",
        "the refusal of a credential in the environment of a command",
        "ael/project/bind_process.py",
        '        if (isinstance(text, Construct) and text.name == "secret") or names_credential(name):',
        "        if False:",
        SANDBOX + "test_what_is_refused",
    ),
    Mutation(
        "K41",
        "the list of commands that may be run",
        "ael/natives/process.py",
        "        if command not in binding.commands:",
        "        if not binding.commands:",
        SANDBOX + "test_what_is_not_on_the_list_is_not_run",
    ),
    Mutation(
        "K41",
        "the look that keeps programs of the workspace from being run",
        "ael/natives/sandbox_programs.py",
        "    return not any(_below(place, str(root)) for place in (path, os.path.realpath(folder), os.path.realpath(path)))",
        "    return True",
        SANDBOX + "test_the_workspace_has_no_programs",
    ),
    Mutation(
        "K41",
        "the look that keeps programs of everybody from being run",
        "ael/natives/sandbox_programs.py",
        " or around.st_mode & stat.S_IWOTH:",
        ":",
        SANDBOX + "test_what_everybody_may_write_to_and_what_is_no_program_is_passed_over",
    ),
    Mutation(
        "K41",
        "the refusal of the system as a workspace",
        "ael/natives/sandbox.py",
        "    if command.sandboxed and any(own == root or own.startswith(below) for own in _OWN):",
        "    if False:",
        SANDBOX + "test_the_system_is_no_workspace",
    ),
    Mutation(
        "K41",
        "the refusal of a workspace that is a link",
        "ael/natives/sandbox.py",
        "    if not command.root.is_dir() or os.path.realpath(root) != root:",
        "    if not command.root.is_dir():",
        SANDBOX + "test_the_workspace_is_no_link",
    ),
    Mutation(
        "K41",
        "the care for what decides about commands, in the workspace",
        "ael/natives/sandbox.py",
        "            found.add(str(entry))",
        "            pass",
        SANDBOX + "test_what_decides_about_commands_is_only_read",
    ),
    Mutation(
        "K41",
        "the refusal of a workspace that is the program itself",
        "ael/natives/sandbox.py",
        "        if path == command.root:",
        "        if False:",
        SANDBOX + "test_a_workspace_that_is_the_program_is_refused",
    ),
    Mutation(
        "K39",
        "the end of a command that is cancelled",
        "ael/natives/sandbox.py",
        "    finally:\n        await _ended(process)\n",
        "    finally:\n        pass\n",
        SANDBOX + "test_a_cancelled_command_is_ended",
    ),
    Mutation(
        "K39",
        "the turn that a command waits for",
        "ael/natives/process.py",
        "asyncio.Semaphore(self._binding.concurrent)",
        "asyncio.Semaphore(64)",
        SANDBOX + "test_more_than_the_deployment_lets_run_wait",
    ),
)
