"""Connectors in a program and in its deployment: what is refused and how it is told, and what the commands say of those that are there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ael.cli.main import main
from ael.hosting.summary import summary
from tests.connectors import asked, test_transport
from tests.connectors.asked import DEPLOY, PACK, SHOP, SPARE
from tests.programs import brief, open_files

OUTSIDE = "def ask():\n    pass\n\n\ndef wire():\n    pass\n"
MAIL = test_transport.MAIN


def problems(folder: Path, main: str, deploy: str) -> list[str]:
    """What is wrong with a program under a deployment."""
    files = {"pack.ael": PACK, "main.ael": main, "deploy.ael": deploy, "outside.py": OUTSIDE, "spare.json": SPARE}
    _, bag = open_files(folder, files)
    return [brief(one, folder) for one in bag.sorted() if one.code != "AEL1102"]


LINES = [
    ("model big = remote()\n", None),
    ('model big = remote("larger", temperature: 0.2, region: "eu", endpoint: "https://models.example.com")\n', None),
    ('model big = remote("a", "b")\n', "AEL0814 1:13 the one argument of `remote` without a name is the model's name"),
    ("model big = remote(7)\n", "AEL0814 1:13 the one argument of `remote` without a name is the model's name"),
    (
        'secret K = env("K")\nmodel big = remote(key: secret("K"))\n',
        "AEL0815 2:20 `remote` is code of the program, which is given no secret",
    ),
    (
        'model big = remote(headers: ["x": secret("K")])\n',
        "AEL0815 1:20 `remote` is code of the program, which is given no secret",
    ),
    ("model big = remote(endpoint: 7)\n", "AEL0814 1:20 `endpoint` is an address"),
    ("model big = remote(temperature: 3)\n", "AEL0814 1:20 `temperature` is a number from 0 to 2"),
    ("model big = remotely()\n", "AEL0814 1:13 a `model` line cannot have `remotely` as its value"),
]


@pytest.mark.feature("A11.5", "C4", "K41")
@pytest.mark.parametrize(("line", "told"), LINES, ids=range(len(LINES)))
def test_lines_of_models(line: str, told: str | None, tmp_path: Path) -> None:
    found = problems(tmp_path, SHOP, line + DEPLOY)
    assert found == ([] if told is None else [f"deploy.ael {told}"])


SERVICES = [
    ('service Orders = mail("depot:9")\n', None),
    ("service Orders = mail\n", None),
    ('service Orders = mail("depot:9", name: "depot.Orders", shelf: 3, rows: ["a": [1, 2]])\n', None),
    ("service Transport = mail\n", None),
    ('service Orders = mail("a", "b")\n', "AEL0814 1:18 the one argument of `mail` without a name is an address, a text"),
    ('service Orders = mail("a", name: "x")\n', 'AEL0814 1:28 `name` is the whole name of a service: `name: "warehouse.Orders"`'),
    ('service Orders = mail("a", token: secret("T"))\n', "AEL0815 1:28 `mail` is code of the program, which is given no secret"),
    ('service Orders = mall("a")\n', "AEL0816 1:18 `main.Orders` is bound to the name of a `provide`"),
    ('node get = mail("a")\n', "AEL0814 1:12 `mail` carries the calls of services, and `get` is none"),
]


@pytest.mark.feature("A11.5", "C4", "K41")
@pytest.mark.parametrize(("line", "told"), SERVICES, ids=range(len(SERVICES)))
def test_lines_of_services(line: str, told: str | None, tmp_path: Path) -> None:
    assert problems(tmp_path, MAIL, line) == ([] if told is None else [f"deploy.ael {told}"])


PROGRAMS = [
    ("  grants out.use\n", "", "AEL0511 16:9 the provider of `Model` is not granted `out.use`, which `ask_there` needs"),
    ("permission out.use\n", "", "AEL0501"),
    ("provider remote", "provider remot", "AEL0610"),
    ("-> Answer fails NoTurn {", "-> String fails NoTurn {", "AEL0628"),
    ("fn ask(", "fn answer(", "AEL0627"),
    ("as remote", "as openai", "AEL0610"),
    ("    try ask_there(request, after)", "    ask_there(request, after)", "AEL0401"),
]


@pytest.mark.feature("A11.5", "A4.2", "C4")
@pytest.mark.parametrize(("old", "new", "told"), PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_connector_is_checked_as_everything_else(old: str, new: str, told: str, tmp_path: Path) -> None:
    assert old in SHOP
    main = (
        SHOP.replace(old, new, 1) if new != "as openai" else SHOP.replace(old, new).replace("provider remote", "provider openai")
    )
    found = problems(tmp_path, main, DEPLOY)
    assert any(one.startswith(told) for one in found), found


def test_a_provider_of_something_else_is_no_model(tmp_path: Path) -> None:
    main = MAIL + "\nmodel big {\n  provider mail\n}\n"
    [found] = problems(tmp_path, main, "")
    assert found.endswith("`mail` is a provider of `Transport`, not of `std/model.Model`")


@pytest.mark.feature("A11.5")
def test_what_is_bound_is_told(tmp_path: Path) -> None:
    opened = asked.opened_in(tmp_path, deploy=DEPLOY + 'model big = remote("larger")\n')
    rows = {(row.kind, row.name): row.bound for row in summary(opened)}
    assert rows["model", "big"] == "the connector remote, larger"
    folder = tmp_path / "mail"
    files = {"pack.ael": PACK, "main.ael": MAIL, "deploy.ael": test_transport.LINE, "outside.py": OUTSIDE}
    mail, _ = open_files(folder, files)
    assert mail is not None
    rows = {(row.kind, row.name): row.bound for row in summary(mail)}
    assert rows["service", "Orders"] == "elsewhere, by the connector mail box:9"


@pytest.mark.feature("A11.5", "A4.12")
def test_access_is_explained_into_the_connector(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked.opened_in(tmp_path)
    assert main(["explain-access", "answer", str(tmp_path), "--json"]) == 0
    reached = json.loads(capsys.readouterr().out)["reaches"]
    ask = next(one for one in reached if one["name"] == "std/model.Model.ask")
    assert ask["via"] == ["main.answer"]
    there = next(one for one in reached if one["name"] == "main.ask_there")
    assert [layer["who"] for layer in there["layers"]] == ["the provider `main.remote`", "the operator's allow-list"]
    (tmp_path / "deploy.ael").write_text(DEPLOY + "deny out.use\n")
    assert main(["explain-access", "answer", str(tmp_path)]) == 0
    assert "tool ask_there needs out.use: denied" in capsys.readouterr().out


def test_what_would_be_sent_can_be_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked.opened_in(tmp_path, deploy=DEPLOY + 'price "large" input $1 output $2\n')
    assert main(["preview", str(tmp_path), "answer", "--question", "Where?"]) == 0
    shown = capsys.readouterr().out
    assert "big (remote large)" in shown
    assert "Answer the question." in shown
