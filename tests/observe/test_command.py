"""`ael trace`, the `log` line of a deployment, and `--otel`, as a person uses them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ael.host import HostError
from ael.hosting.logs import CONTENT, ENDPOINT, captures, open_logs
from ael.hosting.secrets import Secrets
from ael.project.deployment import Deployment
from ael.project.logs import OtlpBinding, traces_of
from ael.types.value import Secret
from tests.cli.conftest import Ael, ael, clean_environment
from tests.observe.test_otlp import Collector, collector, told
from tests.observe.test_page import checked
from tests.programs import open_files

__all__ = ["ael", "collector"]

NOTES = """
permission notes.write

tool save(text: String(max: 200)) -> String(max: 206)
  needs notes.write
  repeat idempotent
{
  let _id = new_id()
  "saved ${text}"
}

node main(text: String(max: 200)) -> String(max: 206)
  grants notes.write
{
  save(text)
}
"""
KEY = "token-0123456789"


def kept(ael: Ael, deploy: str = "", text: str = "hello", *words: str) -> str:
    """The id of a run that saves a text."""
    ael.write({"main.ael": NOTES, "deploy.ael": deploy})
    assert ael("run", "main.ael", "--text", text, "--quiet", *words).code == 0
    [row] = json.loads(ael("runs", "list", "--format", "json").out)
    return str(row["run"])


@pytest.mark.feature("B19", "A16.7")
def test_a_kept_run_is_shown_as_a_tree_as_data_and_as_a_page(ael: Ael) -> None:
    run = kept(ael)
    shown = ael("trace", run[:6])
    assert shown.code == 0
    assert [line.split(" · ")[0].lstrip("│├└─ ") for line in shown.out.splitlines()] == [
        "run main", "node main", "tool save", "effect new_id",
    ]  # fmt: skip
    data = json.loads(ael("trace", run, "--format", "json").out)
    assert (data["run"], [span["kind"] for span in data["spans"]]) == (run, ["run", "node", "tool", "effect"])
    assert "hello" not in json.dumps(data)
    written = ael("trace", run, "--format", "html", "--out", "run.html")
    assert (written.code, written.out, written.err) == (0, "", "wrote run.html\n")
    page = (ael.folder / "run.html").read_text(encoding="utf-8")
    checked(page)
    assert "hello" not in page


DESK = """
permission notes.write

/// Save. Call it last.
tool save(text: String(max: 200)) -> String(max: 206)
  needs notes.write
  repeat idempotent
{
  "saved ${text}"
}

node short(text: String(max: 200)) -> Bool { text.length() < 9 }
node keep(text: String(max: 200)) -> String(max: 206)  grants notes.write { save(text) }

agent desk(text: String(max: 200)) -> String(max: 206)
  grants notes.write
{
  edge start -> short
  edge short -> keep(text) when short
  edge short -> finish("too long") otherwise
  edge keep -> finish
}
"""


@pytest.mark.feature("A16.2", "A16.7")
def test_the_edges_of_a_kept_run_are_found_by_its_program(ael: Ael) -> None:
    ael.write({"main.ael": DESK})
    assert ael("run", "main.ael", "--text", "hello", "--quiet").code == 0
    [row] = json.loads(ael("runs", "list", "--format", "json").out)

    def told(*words: str) -> tuple[list[str], str]:
        shown = ael("trace", row["run"], *words)
        assert shown.code == 0
        lines = [line for line in shown.out.splitlines() if " · " in line]
        return [line.split(" · ")[0].lstrip("│├└─ ") for line in lines], shown.err

    whole = [
        "run desk", "agent desk", "edge start -> short", "node short", "edge short -> keep", "node keep", "tool save",
        "edge keep -> finish",
    ]  # fmt: skip
    assert told() == (whole, "")
    assert told("--content") == (whole, "")
    ael.write({"main.ael": DESK.replace("< 9", "< 8")})
    lines, note = told()
    assert lines == ["run desk", "node desk", "node keep", "tool save"]
    assert note.startswith(
        "note: edges, and nodes that only compute, are found by the program, and it has changed: the run began"
    )
    (ael.folder / "main.ael").unlink()
    lines, note = told()
    assert lines == ["run desk", "node desk", "node keep", "tool save"]
    assert note == (
        "note: edges, and nodes that only compute, are found by the program, which is not here, or has errors (`ael check`)\n"
    )


@pytest.mark.feature("A16.6")
def test_reading_content_is_recorded_and_stays_known_when_the_run_is_forgotten(ael: Ael) -> None:
    run = kept(ael)
    ael("trace", run)
    none = ael("trace", run, "--readers")
    assert (none.out, none.err) == ("", f"nobody has read the content of the run {run}\n")
    assert '"saved hello"' in ael("trace", run, "--content").out
    ael("trace", run, "--content", "--format", "json")
    ael("runs", "show", run)
    told_ = ael("trace", run, "--readers").out
    lines = told_.splitlines()[1:]
    assert [line.split("  ", 2)[2] for line in lines] == [
        "ael trace --content --format text", "ael trace --content --format json", "ael runs show",
    ]  # fmt: skip
    assert ael("runs", "prune", "--before", "0s").code == 0
    assert ael("trace", run).code == 2
    assert ael("trace", run, "--readers").out == told_


@pytest.mark.feature("A16.6")
@pytest.mark.parametrize(("evidence", "seen"), [("full", '"saved hello"'), ("redacted", '"[text of 11 characters]"')])
def test_the_deployment_says_how_much_is_shown(ael: Ael, evidence: str, seen: str) -> None:
    run = kept(ael, f'runs = sqlite("r.db", evidence: {evidence})\n')
    assert f"result: {seen}" in ael("trace", run, "--content").out
    assert ("hello" in ael("runs", "show", run).out) is (evidence == "full")


@pytest.mark.feature("A16.6")
def test_where_nobody_may_read_nothing_is_shown_and_nothing_recorded(ael: Ael) -> None:
    run = kept(ael, 'runs = sqlite("r.db", evidence: none)\n')
    refused = ael("trace", run, "--content")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("error[AEL0905]: the deployment lets nobody read the content of its runs\n")
    assert "hello" not in ael("trace", run).out + ael("runs", "show", run).out
    assert "--content" not in ael("trace", run, "--readers").out


def test_secrets_are_masked_in_every_form_of_a_trace(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    """K41: also those of providers, which the deployment does not name."""
    monkeypatch.setenv("NOTES_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefghij")
    run = kept(ael, 'secret NOTES = env("NOTES_KEY")\n', f"{KEY} sk-abcdefghij")
    for form in ("text", "json", "html"):
        out = ael("trace", run, "--content", "--format", form).out
        assert KEY not in out
        assert "sk-abcdefghij" not in out
        assert "saved *** ***" in out


def test_a_run_that_is_not_there(ael: Ael) -> None:
    kept(ael)
    gone = ael("trace", "rzzz")
    assert (gone.code, gone.out) == (2, "")
    assert gone.err.startswith("error[AEL0905]: there is no run `rzzz`")


# --- OpenTelemetry ---------------------------------------------------------------------------------------------------------


@pytest.mark.feature("B19", "A16.4")
def test_the_deployment_sends_the_traces_of_its_runs(ael: Ael, collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTES_KEY", KEY)
    line = f'log = otlp("{collector.url}", headers: ["x-api-key": secret("NOTES")])\nsecret NOTES = env("NOTES_KEY")\n'
    run = kept(ael, line)
    assert {span.name for span in collector.spans} == {"invoke_workflow main", "invoke_agent main", "execute_tool save"}
    assert {told(span)["gen_ai.conversation.id"] for span in collector.spans} == {run}
    assert collector.headers[0]["x-api-key"] == KEY
    assert collector.resources[0]["service.name"] == "here"


@pytest.mark.feature("B19", "A16.4")
def test_one_flag_sends_them_where_the_variables_say(ael: Ael, collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENDPOINT, collector.url.removesuffix("/v1/traces"))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc-def,x-a=1")
    monkeypatch.setenv(CONTENT, "true")
    kept(ael)
    assert collector.spans == [], "the variable alone turns nothing on"
    assert ael("run", "main.ael", "--text", "again", "--otel", "--quiet").code == 0
    [tool] = [span for span in collector.spans if span.name == "execute_tool save"]
    assert told(tool)["gen_ai.tool.call.result"] == '"saved again"'
    assert (collector.headers[0]["authorization"], collector.headers[0]["x-a"]) == ("Bearer abc-def", "1")


@pytest.mark.feature("A16.4")
def test_nothing_of_it_is_loaded_where_nobody_asks_for_it(ael: Ael, tmp_path: Path) -> None:
    """Off by default, and at no cost: also where the variables of a collector are set."""
    ael.write({"main.ael": NOTES})
    code = (
        "import sys; from ael.cli.main import main\n"
        "code = main(['run', 'main.ael', '--text', 'hello', '--quiet'])\n"
        "print(code, sorted(m for m in sys.modules if m.startswith(('opentelemetry', 'google', 'ael.observe.otlp'))))"
    )
    environment = clean_environment(tmp_path) | {ENDPOINT: "http://127.0.0.1:9"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ael.folder, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "0 []"


def test_a_collector_that_is_not_there_is_told_of_once(ael: Ael) -> None:
    ael.write({"main.ael": NOTES, "deploy.ael": 'log = otlp("http://127.0.0.1:9")\n'})
    ended = ael("run", "main.ael", "--text", "hello", "--quiet")
    assert (ended.code, json.loads(ended.out)) == (0, "saved hello")
    assert ended.err == "ael: warning: 3 of 3 spans did not reach http://127.0.0.1:9/v1/traces\n"


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ('log = syslog("local")', "AEL0814", "`syslog` is no log sink"),
        ("log = otlp()", "AEL0814", "`otlp` takes the address of a collector"),
        ('log = otlp("http://collector.example.com")', "AEL0814", "traces leave this machine over `https` alone"),
        ('log = otlp("collector.example.com")', "AEL0814", "this is no address of a collector"),
        ('log = otlp("https://user:pass@collector.example.com")', "AEL0815", "no user, no password"),
        ('log = otlp("https://c.example.com?key=abc")', "AEL0815", "no user, no password and no `?`"),
        ('log = otlp("https://c.example.com", headers: ["x-api-key": "abc"])', "AEL0815", "a named secret, never text in a file"),
        ('log = otlp("https://c.example.com", headers: ["a b": "c"])', "AEL0814", "is no name of a header"),
        ('log = otlp("https://c.example.com", headers: ["a": secret("NONE")])', "AEL0831", "the deployment has no secret `NONE`"),
        ('log = otlp("https://c.example.com", content: 1)', "AEL0814", "`content` is `true` or `false`"),
        ('log = otlp("https://c.example.com", every: 1s)', "AEL0814", "`otlp` has no `every`"),
        ('runs = sqlite("r.db", evidence: some)', "AEL0814", "`evidence` is `none`, `redacted` or `full`"),
        ('runs = sqlite("r.db", evidence_keep: soon)', "AEL0814", "`evidence_keep` is a length of time"),
        ('runs = sqlite("r.db", redact: ["a"])', "AEL0814", "`redact` goes with `evidence: redacted`"),
        ('runs = sqlite("r.db", evidence: full, redact: ["a"])', "AEL0814", "`redact` goes with `evidence: redacted`"),
        ('runs = sqlite("r.db", evidence: redacted, redact: [])', "AEL0814", "`redact` is a list of names of fields"),
        ('runs = sqlite("r.db", evidence: redacted, redact: "a")', "AEL0814", "`redact` is a list of names of fields"),
    ],
)
def test_lines_that_are_refused(tmp_path: Path, line: str, code: str, said: str) -> None:
    _, bag = open_files(tmp_path, {"main.ael": NOTES, "deploy.ael": f"{line}\n"})
    assert [(found.code, said in found.message) for found in bag.sorted()] == [(code, True)]


def test_without_the_package_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ael.hosting.logs.find_spec", lambda name: None)
    deployment = Deployment(logs=(OtlpBinding("https://c.example.com"),))
    with pytest.raises(HostError) as found:
        open_logs(deployment, Secrets(deployment), otel=False, service="x")
    assert (found.value.code, "ael-lang[otel]" in found.value.message) == ("AEL0834", True)
    assert open_logs(Deployment(), Secrets(Deployment()), otel=False, service="x") == []


def test_what_stands_in_the_variables_of_headers_is_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc-def")
    secrets = Secrets(Deployment())
    [exporter] = open_logs(Deployment(), secrets, otel=True, service="x")
    exporter.close()
    assert [type(known) for known in secrets.known.values()] == [Secret]
    assert [known.reveal() for known in secrets.known.values()] == ["Bearer abc-def"]


def test_addresses_and_words_of_the_environment() -> None:
    assert (
        traces_of("https://c.example.com/") == traces_of("https://c.example.com/v1/traces") == "https://c.example.com/v1/traces"
    )
    assert [captures({CONTENT: word}) for word in ("true", "SPAN_ONLY", "1", "false", "", "no_content")] == [True] * 3 + [
        False
    ] * 3
    assert captures({}) is False
