"""The `process` line of a deployment: what it becomes, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from ael.hosting.summary import summary
from ael.project.bind_process import ProcessBinding
from tests.programs import brief, open_files

PACK = "pack desk {\n  uses std/process\n}\n"
MAIN = "node main() -> Int {\n  1\n}\n"
FORM = 'it is written `process = sandbox(commands: ["git", "pytest"], time: 60s, memory: 2GiB)`'


def bound(folder: Path, deploy: str, pack: str = PACK) -> tuple[object, list[str]]:
    opened, bag = open_files(folder, {"main.ael": MAIN, "pack.ael": pack, "deploy.ael": deploy})
    said = [f"{brief(d, folder)} {' '.join(d.notes)}".strip() for d in bag.sorted()]
    return (opened.deployment.natives.get("process") if opened is not None else None), said


@pytest.mark.parametrize(
    ("line", "binding"),
    [
        ("sandbox()", ProcessBinding()),
        ('sandbox(commands: ["git", "git", "g++", "/opt/x/bin/lint"])', ProcessBinding(("git", "g++", "/opt/x/bin/lint"))),
        (
            'sandbox(commands: ["git"], read: ["/opt/tools"], network: true, env: ["CI": "1"], time: 5min, cpu: 10s, memory: 1GiB, '
            "file: 1MB, disk: 2MB, open_files: 64, processes: 32, output: 32KiB, concurrent: 1)",
            ProcessBinding(
                ("git",),
                True,
                ("/opt/tools",),
                True,
                {"CI": "1"},
                300_000,
                10_000,
                1 << 30,
                1_000_000,
                2_000_000,
                64,
                32,
                32_768,
                1,
            ),
        ),
        ('unsandboxed(commands: ["git"], time: 10s)', ProcessBinding(("git",), False, time=10_000)),
    ],
)
def test_what_a_line_becomes(tmp_path: Path, line: str, binding: ProcessBinding) -> None:
    assert bound(tmp_path, f"process = {line}\n") == (binding, [])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("process = bash()", "AEL0814 1:11 a `process` line cannot have `bash` as its value there is `sandbox`, `unsandboxed`"),
        ('process = sandbox("git")', f"AEL0814 1:11 `sandbox` takes its words by name {FORM}"),
        ("process = sandbox(comands: [])", "AEL0814 1:19 `sandbox` has no `comands` did you mean `commands`?"),
        ('process = sandbox(commands: "git")', f"AEL0814 1:19 `commands` is a list of texts {FORM}"),
        (
            'process = sandbox(commands: ["git status"])',
            "AEL0814 1:19 `git status` is no command a command is a name, `\"git\"`, or an absolute path, `\"/opt/tools/bin/lint\"`; its "
            "arguments are said by the program",
        ),
        ('process = sandbox(commands: ["./git"])', "AEL0814 1:19 `./git` is no command"),
        ('process = sandbox(commands: ["/opt/../etc/x"])', "AEL0814 1:19 `/opt/../etc/x` is no command"),
        ('process = sandbox(commands: ["-x"])', "AEL0814 1:19 `-x` is no command"),
        ('process = sandbox(read: ["tools"])', "AEL0814 1:19 `tools` cannot be shown in a sandbox"),
        ('process = sandbox(read: ["/run/docker.sock"])', "AEL0814 1:19 `/run/docker.sock` cannot be shown in a sandbox"),
        ('process = sandbox(read: ["/"])', "AEL0814 1:19 `/` cannot be shown in a sandbox"),
        ("process = sandbox(network: 1)", "AEL0814 1:19 `network` is `true` or `false`"),
        ("process = sandbox(time: 60)", "AEL0814 1:19 `time` is a duration of at most an hour, such as `60s`"),
        ("process = sandbox(time: 2h)", "AEL0814 1:19 `time` is a duration of at most an hour, such as `60s`"),
        ("process = sandbox(memory: 1MiB)", "AEL0814 1:19 `memory` is a size from 16MiB, such as `256MiB`"),
        ("process = sandbox(output: 1MiB)", "AEL0814 1:19 `output` is a size from 256B to 512KiB, such as `256MiB`"),
        ("process = sandbox(processes: 0)", "AEL0814 1:19 `processes` is a whole number from 1 to 10,000"),
        ("process = sandbox(concurrent: true)", "AEL0814 1:19 `concurrent` is a whole number from 1 to 256"),
        ('process = sandbox(env: ["A B": "1"])', "AEL0814 1:19 `A B` is no name of a variable"),
        ('process = sandbox(env: ["A": 1])', "AEL0814 1:19 a variable is one line of text"),
        ('process = sandbox(env: ["LD_PRELOAD": "x.so"])', "AEL0846 1:19 the variable `LD_PRELOAD` decides which code a program runs"),
        ('process = sandbox(env: ["API_TOKEN": "x"])', "AEL0815 1:19 the variable `API_TOKEN` is a credential"),
        ('process = sandbox(env: ["A": secret("S")])', "AEL0815 1:19 the variable `A` is a credential"),
        (
            "process = unsandboxed(network: true)",
            "AEL0814 1:23 `unsandboxed` has no `network` without a sandbox a command reads and reaches everything that AEL itself does",
        ),
        ("process = sandbox()\nprocess = sandbox()", "AEL0813 2:1 `process` is bound twice"),
        ("process one = sandbox()", "AEL0814 1:9 a `process` line has no place for this"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path: Path, line: str, said: str) -> None:
    _, found = bound(tmp_path, line + "\n")
    assert len(found) == 1
    assert found[0].startswith(f"deploy.ael {said}")


def test_what_a_reviewer_sees_first(tmp_path: Path) -> None:
    for line, shown in (
        ("sandbox()", "in a sandbox: no commands"),
        ('sandbox(commands: ["git"], network: true)', "in a sandbox, with the network of this machine: git"),
        ('unsandboxed(commands: ["git", "sh"])', "WITHOUT A SANDBOX: git, sh"),
    ):
        opened, _ = open_files(tmp_path, {"main.ael": MAIN, "pack.ael": PACK, "deploy.ael": f"process = {line}\n"})
        assert opened is not None
        assert ("process", shown) in [(row.kind, row.bound) for row in summary(opened)]


def test_a_pack_that_does_not_list_the_package_has_no_commands(tmp_path: Path) -> None:
    _, found = bound(tmp_path, "process = sandbox()\n", "pack desk {\n}\n")
    assert found == [
        "deploy.ael AEL0845 1:1 running commands needs the optional package `std/process` add `uses std/process` to `pack.ael`: what a "
        "pack does not list does not exist for the program"
    ]
