"""What the studio does the second time: after an edit of the program or its deployment, and with questions of a strange form."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ael.host import open_host
from ael.studio import crew
from ael.studio.app import Studio
from ael.studio.feed import Feed
from ael.studio.guard import Guard
from tests.studio.desk import DEPLOY, Served, eventually, program, studio


def test_who_was_taken_off_the_list_does_not_decide(tmp_path_factory: pytest.TempPathFactory) -> None:
    with studio(program(tmp_path_factory.mktemp("off"))) as found:
        found.enter()
        run = found.parked()
        asked = found.asked(run)
        assert asked["may"] is True
        (found.folder / "deploy.ael").write_text(DEPLOY.replace('["ann", "local"]', '["bob"]'), "utf-8")

        def refused() -> str | None:
            said = {"step": asked["step"], "digest": asked["digest"], "decision": "deny", "reason": ""}
            error = found.post(f"runs/{run}/decide", said).error
            return error if "no member" in error else None

        # Nothing but decisions is asked for: the deployment is read for them.
        assert eventually(refused) == "`finance` decides about this, and ann is no member of it"
        assert found.decide(run, "approve").status == 409
        assert found.until(run, "parked")["state"] == "parked"


def test_forks_with_the_same_other_model_share_what_is_open_and_an_edit_closes_it(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Any] = []
    closed: list[Any] = []
    close = crew._Bench.close

    def opening(*arguments: Any, **named: Any) -> Any:
        opened.append(open_host(*arguments, **named))
        return opened[-1]

    async def closing(bench: Any) -> None:
        await close(bench)
        closed.append(bench.host)

    monkeypatch.setattr("ael.studio.crew.open_host", opening)
    monkeypatch.setattr(crew._Bench, "close", closing)
    monkeypatch.setattr(crew.Crew, "keep", 0.0)
    with studio(program(tmp_path_factory.mktemp("forks"))) as found:
        found.enter()
        (found.folder / "other.json").write_text((found.folder / "script.json").read_text("utf-8"), "utf-8")
        run = found.parked()
        found.decide(run, "approve")
        found.until(run, "ended")
        for _ in range(3):
            made = found.post(f"runs/{run}/fork", {"at": "desk/answer#1/turn1", "changes": [["model.fast", "other.json"]]})
            assert made.status == 200, made.body
            found.until(made.json["run"], "ended")
        assert len(opened) == 2
        assert closed == []
        (found.folder / "main.ael").write_text("/// New.\nnode other() -> Int {\n  1\n}\n", "utf-8")
        (found.folder / "deploy.ael").write_text('runs = sqlite("runs.db")\n', "utf-8")
        eventually(lambda: found.get("about").json["problems"] == [] or None)
        begun = eventually(lambda: found.post("runs", {"entry": "main.other", "input": {}}).json.get("run"))
        found.until(begun, "ended")
        eventually(lambda: len(closed) == 2 or None)
        assert opened[2] not in closed
        assert set(map(id, closed)) == set(map(id, opened[:2]))


def test_a_masked_argument_is_not_sent_as_its_mask(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A secret so short that it may stand in data: it is masked where it is shown, and the call has it.
    monkeypatch.setenv("PIN", "A-42")
    deploy = DEPLOY + 'secret PIN = env("PIN")\ncaller ann = bearer(secret("PIN"))\n'
    with studio(program(tmp_path_factory.mktemp("masked"), deploy_ael=deploy)) as found:
        found.enter()
        run = found.parked()
        shown = found.asked(run)["arguments"]
        assert shown == {"order": "***", "amount": "19.90"}
        refused = found.decide(run, "approve", arguments={**shown, "amount": "1.00"})
        assert (refused.status, "would be sent as that" in refused.error) == (409, True)
        assert found.decide(run, "approve").status == 200
        assert found.until(run, "ended")["ending"] == "value"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("runs?" + "&".join(f"a{number}=1" for number in range(60)), 400),
        ("events?after=--5&run=", 200),
        ("events?after=\u0663".encode().decode("latin-1"), 200),
    ],
)
def test_a_question_of_a_strange_form_is_answered(
    served: Served, capfd: pytest.CaptureFixture[str], path: str, status: int
) -> None:
    if path.startswith("events"):
        seen = next(served.events("r0", path.partition("=")[2].partition("&")[0]))
        assert seen[0] == "runs"
    else:
        assert served.get(path).status == status
        assert served.raw("GET", f"/?{path.partition('?')[2]}").status == status
    assert "Traceback" not in capfd.readouterr().err


def test_a_page_that_begins_to_listen_is_told_nothing_older_than_what_it_has_read(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = served.parked()
    others = served.events(run)
    assert next(others)[0] == "runs"
    # From now on what is read for all pages stays as it is.
    monkeypatch.setattr(Feed, "look", 1e9)
    eventually(lambda: served.get(f"runs/{run}?brief=1").json["state"] == "parked" or None)
    served.decide(run, "approve")
    served.until(run, "ended")
    told = next(data for name, _, data in served.events(run) if name == "run")
    assert (told["row"]["state"], told["row"]["ending"]) == ("ended", "value")


def test_what_is_cut_off_as_the_studio_ends_is_no_defect() -> None:
    class Stuck:
        """A store that does not answer."""

        asked = asyncio.Event()

        async def rows(self, *arguments: object) -> None:
            self.asked.set()
            await asyncio.Event().wait()

    async def nothing(*arguments: object) -> None:
        return None

    async def main() -> None:
        guard, stuck = Guard(lambda token: None), Stuck()
        cookie = guard.enter(guard.token)
        assert cookie is not None
        headers = [(b"host", b"localhost"), (b"cookie", cookie.partition(";")[0].encode())]
        scope = {"type": "http", "path": f"{guard.base}api/runs", "method": "GET", "query_string": b"", "headers": headers}
        nobody: Any = None
        desk: Any = stuck
        cut = asyncio.ensure_future(Studio(desk, nobody, guard, nobody)(scope, nothing, nothing))
        await stuck.asked.wait()
        cut.cancel()
        await cut

    asyncio.run(main())
