"""`std/process` in a program: what the deployment allows is run, and everything else is refused in words that say what to do."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ael.cli.main import main
from ael.host import open_host
from ael.natives.sandbox import layers
from ael.project.entry import choose
from ael.run.bindings import Options
from ael.run.outcome import DeclaredError, Faulted, Outcome, Unsettled, Value
from tests.programs import brief, open_files, run
from tests.sandbox.box import SECRET, Box, shown
from tests.sandbox.test_processes import inside, parent, until

pytestmark = pytest.mark.feature("A15.4", "K39", "K41")

PACK = "pack desk {\n  uses std/process\n}\n"
MAIN = """\
use std/process.{run, Finished, NotAllowed, NotStarted}

node main(command: String, arguments: List<String>, folder: String = ".", input: String = "") -> Finished
  fails NotAllowed, NotStarted, Uncertain
  grants std.process.run
{
  try run(command, arguments, input, folder)
}

node hurried(command: String, arguments: List<String>) -> Finished fails NotAllowed, NotStarted, Uncertain
  grants std.process.run
  budget time 4s
{
  try run(command, arguments)
}
"""
FILES = 'files = folder("./work", write: true)\n'
READ = ", ".join(f'"{path}"' for path in shown())
PYTHON = Path(sys.executable).name


def line(*more: str, kind: str = "sandbox") -> str:
    words = [f'commands: ["sh", "cat", "{PYTHON}"]', *([f"read: [{READ}]"] if READ and kind == "sandbox" else []), *more]
    return f"{FILES}process = {kind}({', '.join(words)})\n"


def outcome(program: Path, deploy: str, command: str, *arguments: str, entry: str = "main", **more: str) -> Outcome:
    (program / "work").mkdir(exist_ok=True)
    opened, bag = open_files(program, {"main.ael": MAIN, "pack.ael": PACK, "deploy.ael": deploy})
    assert [brief(d, program) for d in bag.sorted()] == []
    assert opened is not None
    return run(opened, {"command": command, "arguments": list(arguments), **more}, entry=entry).outcome


def value(found: Outcome) -> Any:
    assert isinstance(found, Value), found
    return found.value


def refused(found: Outcome) -> tuple[str, str]:
    assert isinstance(found, DeclaredError), found
    assert isinstance(found.value, dict)
    return found.error.rpartition(".")[2], str(found.value["reason"])


def test_a_command_that_the_deployment_allows_is_run(box: Box) -> None:
    folder = box.root.parent
    done = value(outcome(folder, line(), "sh", "-c", "cat; pwd; echo oh >&2; exit 3", input="hello\n"))
    assert done == {
        "exit_code": 3, "signal": None, "stdout": f"hello\n{box.root}\n", "stderr": "oh\n", "stdout_cut": False, "stderr_cut": False,
        "stopped": None, "seconds": done["seconds"],
    }  # fmt: skip
    assert 0 <= done["seconds"] < 60


def test_what_is_not_on_the_list_is_not_run(box: Box) -> None:
    """Not by another name, not by a path, not by a link, and nothing at all without a line."""
    (box.root / "evil").write_text("#!/bin/sh\ntouch ran\n")
    (box.root / "evil").chmod(0o755)
    (box.root / "sh").symlink_to("evil")
    for command in ("evil", "./evil", "./sh", "bash", "/bin/sh", "sh ", " sh", "SH", "sh\n", "../bin/sh", "", f"{box.root}/sh"):
        name, reason = refused(outcome(box.root.parent, line(), command))
        assert (name, "the allow-list has `sh`, `cat`" in reason) == ("NotAllowed", True)
    name, reason = refused(outcome(box.root.parent, FILES, "sh"))
    assert name == "NotAllowed"
    assert reason == 'the allow-list is empty: the deployment lists what may be run: `process = sandbox(commands: ["git"])`'
    assert not (box.root / "ran").exists()


def test_a_command_of_the_workspace_is_never_meant(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the name in the workspace, and the workspace on the PATH."""
    (box.root / "cat").write_text("#!/bin/sh\necho evil\n")
    (box.root / "cat").chmod(0o755)
    monkeypatch.setenv("PATH", f"{box.root}:.:{box.root / 'bin'}:")
    assert value(outcome(box.root.parent, line(), "cat", input="good"))["stdout"] == "good"


def test_a_command_that_is_not_there_or_not_shown(box: Box) -> None:
    tools = box.root.parent / "tools"
    tools.mkdir()
    (tools / "lint").write_text("#!/bin/sh\necho linted\n")
    (tools / "lint").chmod(0o755)
    lines = f'{FILES}process = sandbox(commands: ["none-such", "{tools}/lint"])\n'
    assert refused(outcome(box.root.parent, lines, "none-such")) == (
        "NotAllowed", "there is no such program outside of the workspace",
    )  # fmt: skip
    name, reason = refused(outcome(box.root.parent, lines, f"{tools}/lint"))
    assert (name, reason) == (
        "NotAllowed", f"it is `{tools}/lint`, which the sandbox does not show: the deployment adds its folder to `read`",
    )  # fmt: skip
    seen = lines.replace("])", f'], read: ["{tools}"])')
    assert value(outcome(box.root.parent, seen, f"{tools}/lint"))["stdout"] == "linted\n"


def test_a_folder_that_is_none_is_a_declared_error(box: Box) -> None:
    assert refused(outcome(box.root.parent, line(), "sh", folder="none")) == (
        "NotStarted", "the workspace has no folder `none`",
    )  # fmt: skip
    assert refused(outcome(box.root.parent, line(), "sh", "a\0b"))[0] == "NotStarted"


def test_a_limit_that_is_passed_is_a_value_that_the_program_sees(box: Box) -> None:
    done = value(outcome(box.root.parent, line("time: 2s"), "sh", "-c", "echo begun; sleep 1000"))
    assert (done["exit_code"], done["signal"], done["stopped"], done["stdout"]) == (None, 9, "time", "begun\n")


def test_the_time_of_the_call_bounds_the_command(box: Box) -> None:
    """The command ends a little before its call, so that the program gets what it said until then."""
    found = outcome(box.root.parent, line("time: 10min"), "sh", "-c", "echo begun; sleep 1000", entry="hurried")
    assert value(found)["stopped"] == "time"
    assert inside(box.root) == []


def test_a_long_output_is_cut_to_what_the_deployment_says(box: Box) -> None:
    done = value(outcome(box.root.parent, line("output: 1KiB"), "sh", "-c", "yes | head -c 5000000; echo end"))
    assert (done["stdout_cut"], done["stdout"].endswith("y\nend\n"), len(done["stdout"]) < 1_100) == (True, True, True)


def test_files_that_are_only_read(box: Box) -> None:
    done = value(outcome(box.root.parent, line().replace(", write: true", ""), "sh", "-c", "echo x > made"))
    assert done["exit_code"] != 0
    assert not (box.root / "made").exists()


def test_without_a_folder_nothing_is_run(box: Box) -> None:
    found = outcome(box.root.parent, line().replace(FILES, ""), "sh")
    assert isinstance(found, Faulted)
    assert (found.kind, "files = folder" in found.message) == ("Unavailable", True)


def test_variables_of_the_deployment_and_no_others(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", SECRET)
    told = value(outcome(box.root.parent, line('env: ["CI": "yes"]'), "sh", "-c", "echo $CI; env"))["stdout"]
    assert told.startswith("yes\n")
    assert SECRET not in told


@pytest.mark.feature("K39")
def test_a_cancelled_run_ends_its_command(box: Box) -> None:
    opened, _ = open_files(box.root.parent, {"main.ael": MAIN, "pack.ael": PACK, "deploy.ael": line()})
    assert opened is not None

    async def cancelled() -> None:
        async with open_host(opened) as host:
            code = "echo > alive; sleep 1000 & sleep 1000"
            started = host.engine.start(
                choose(opened.program, None), {"command": "sh", "arguments": ["-c", code]}, Options("local", "tester")
            )
            while not (box.root / "alive").exists():
                await asyncio.sleep(0.02)
            started.cancel()
            await started.outcome()

    asyncio.run(cancelled())
    until(lambda: inside(box.root) == [])


def test_a_command_whose_supervisor_died_is_uncertain(box: Box) -> None:
    """What it said is lost, and what it did may stand: nobody knows, and nobody claims to."""
    opened, _ = open_files(box.root.parent, {"main.ael": MAIN, "pack.ael": PACK, "deploy.ael": line()})
    assert opened is not None

    async def lost() -> Outcome:
        async with open_host(opened) as host:
            given = {"command": "sh", "arguments": ["-c", "echo > alive; exec sleep 1000"]}
            started = host.engine.start(choose(opened.program, None), given, Options("local", "tester"))
            while not (box.root / "alive").exists():
                await asyncio.sleep(0.02)
            os.kill(parent(parent(inside(box.root)[0])), signal.SIGKILL)
            return await started.outcome()

    assert isinstance(asyncio.run(lost()), Unsettled)
    until(lambda: inside(box.root) == [])


def test_more_than_the_deployment_lets_run_wait(box: Box) -> None:
    """One after the other: each finds the folder as the one before left it."""
    program = """\
use std/process.{run, NotAllowed, NotStarted}

node main() -> List<String> fails NotAllowed, NotStarted, Uncertain
  grants std.process.run
{
  let code = "mkdir busy && sleep 0.1 && rmdir busy && echo alone"
  parallel n in [1, 2, 3, 4] {
    let done = try run("sh", ["-c", code])
    done.stdout
  }
}
"""
    opened, bag = open_files(box.root.parent, {"main.ael": program, "pack.ael": PACK, "deploy.ael": line("concurrent: 1")})
    assert [brief(d, box.root.parent) for d in bag.sorted()] == []
    assert opened is not None
    assert value(run(opened).outcome) == ["alone\n"] * 4


def test_what_a_command_says_is_outside_data(box: Box) -> None:
    program = """\
use std/process.{run, NotAllowed, NotStarted}

permission mail.send

/// Send a mail. Call it last.
tool send(trusted to: String) -> Unit
  needs mail.send
  repeat never
{
}

node main() -> Unit fails NotAllowed, NotStarted, Uncertain
  grants std.process.run, mail.send
{
  let done = try run("cat")
  try send(done.stdout)
}
"""
    _, bag = open_files(box.root.parent, {"main.ael": program, "pack.ael": PACK, "deploy.ael": line()})
    assert [d.code for d in bag.sorted()] == ["AEL0701"]


def test_the_package_is_listed_or_not_there(tmp_path: Path) -> None:
    _, bag = open_files(tmp_path, {"main.ael": MAIN, "pack.ael": "pack desk {\n}\n"})
    assert [d.code for d in bag.sorted()] == ["AEL0826"], "what follows from it is no news"


def test_a_workspace_that_is_not_there_is_told_with_its_name(tmp_path: Path) -> None:
    name, told = refused(outcome(tmp_path.resolve(), line().replace("./work", "./gone"), "cat"))
    assert name == "NotStarted"
    assert "`gone`" in told
    assert "`files` line" in told


def test_without_a_sandbox_where_the_deployment_says_so(tmp_path: Path) -> None:
    tmp_path = tmp_path.resolve()
    (tmp_path / "outside.txt").write_text("seen")
    done = value(outcome(tmp_path, line("time: 30s", kind="unsandboxed"), "sh", "-c", "cat ../outside.txt; exit 4"))
    assert (done["exit_code"], done["stdout"]) == (4, "seen")
    assert refused(outcome(tmp_path, line(kind="unsandboxed"), "bash"))[0] == "NotAllowed"


MASKED = """
import os, sys
sys.path.insert(0, sys.argv[1])
from ael.natives import sandbox_calls as calls
user = os.geteuid()
group = os.getegid()
calls.unshare("user", calls.CLONE_NEWUSER | calls.CLONE_NEWNS)
for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
    open(f"/proc/self/{name}", "w").write(text)
calls.mount("tmpfs", "/proc/irq", "tmpfs", 0)
from pathlib import Path
from tests.sandbox.box import Box
from tests.sandbox.test_limits import STORM
from ael.natives.sandbox import layers
print(layers())
box = Box(Path(sys.argv[2]))
print(box.says("import os; print(os.getpid(), os.listdir('/proc'))"))
print(box.py(STORM, processes=40).stopped)
print(box.py("import os, time\\nif os.fork() == 0: os.setsid()\\ntime.sleep(1000)", time=700).stopped)
print(box.py("import mmap\\nm = mmap.mmap(-1, 1 << 30)\\nfor n in range(0, 1 << 30, 4096): m[n] = 1", memory=128 << 20).stopped)
"""


def test_in_a_container_whose_proc_is_covered_commands_have_none(box: Box) -> None:
    """As in containers: the kernel gives no whole /proc to who sees only a part of one. All limits hold there too."""
    folder = box.root.parent / "inner"
    folder.mkdir()
    words = [sys.executable, "-c", MASKED, str(Path(__file__).resolve().parents[2]), str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    layers, *told = done.stdout.splitlines()
    assert "missing='', " in layers
    assert "proc=False" in layers
    assert told == ["2 []", "processes", "time", "memory"]
    assert inside(folder) == []


WITHOUT = """
import os, sys
sys.path.insert(0, sys.argv[1])
from ael.natives import sandbox_calls as calls
user = os.geteuid()
try:
    calls.unshare("user", calls.CLONE_NEWUSER)
    open("/proc/self/uid_map", "w").write(f"{user} {user} 1")
    open("/proc/sys/user/max_user_namespaces", "w").write("0")
except OSError:
    pass  # A machine without them is what is asked for.
from pathlib import Path
from tests.sandbox.test_module import line, outcome
from ael.natives.sandbox import layers
print(layers().missing)
found = outcome(Path(sys.argv[2]), line(), "sh", "-c", "echo > ran")
print(found.kind, found.message)
print(outcome(Path(sys.argv[2]), line(kind="unsandboxed"), "sh", "-c", "echo > ran").value["exit_code"])
"""


def test_the_doctor_says_which_walls_there_are(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["doctor", str(tmp_path)]) == 0
    (told,) = [line for line in capsys.readouterr().out.splitlines() if "sandbox for commands" in line]
    found = layers()
    if found.missing:
        assert told.strip() == f"--  {found.missing}; `process = unsandboxed(…)` in a deployment does without one"
    else:
        assert told.startswith("  ok  sandbox for commands: namespaces, system calls filtered")
        assert (f"Landlock {found.landlock}" in told) == (found.landlock > 0)
        assert ("by the kernel" in told) == found.pids


def test_where_a_layer_is_missing_nothing_is_run_and_the_fault_says_so(tmp_path: Path) -> None:
    """A process in which no user namespace can be made, as on machines whose operator forbids them."""
    tmp_path = tmp_path.resolve()
    (tmp_path / "work").mkdir()
    words = [sys.executable, "-c", WITHOUT, str(Path(__file__).resolve().parents[2]), str(tmp_path)]

    async def told() -> str:
        process = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
        out, _ = await process.communicate()
        return out.decode()

    missing, fault, code = asyncio.run(told()).splitlines()
    assert missing.startswith("this machine has no sandbox for commands: ")
    assert "user namespaces" in missing or layers().missing
    assert fault.startswith(f"Unavailable {missing}; `process = unsandboxed(commands: […])` in the deployment does without one")
    assert code == "0"
