"""What `docs/serving.md` says is so: its programs are served, and its JSON is what clients see."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.error_pages import _file
from tests.programs import blocks, open_files
from tests.server.support import TOKEN, serving
from tests.server.test_calls import result

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
FIRST, PACK, _, SECOND, DEPLOY, *_ = (_file(block.text) for block in blocks(PAGE) if block.language == "ael")
SHOWN = [json.loads(block.text) for block in blocks(PAGE) if block.language == "json"]


@pytest.mark.feature("A10.4")
def test_the_first_program_is_listed_as_the_page_shows(tmp_path: Path) -> None:
    opened, _ = open_files(tmp_path, dict([PACK, FIRST]))
    assert opened is not None

    async def scenario() -> None:
        async with serving(opened) as served:
            listed = await served.post(served.message("tools/list"), await served.open())
            assert listed.json["result"]["tools"] == SHOWN
            found = result(await served.call("classify", {"message": "a refund, please"}))
            assert found["structuredContent"] == {"result": "Refund"}

    asyncio.run(scenario())
    assert len(FIRST[1].splitlines()) < 10


def test_the_second_program_has_callers_and_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALICE_TOKEN", TOKEN)
    (tmp_path / "bob.token").write_text("bob-token-0123456789\n")
    opened, _ = open_files(tmp_path, dict([PACK, SECOND, DEPLOY]))
    assert opened is not None

    async def scenario() -> None:
        async with serving(opened) as served:
            for token in (TOKEN, "bob-token-0123456789"):
                known = {"Authorization": f"Bearer {token}", "Host": "agents.example.com", "Origin": "https://app.example.com"}
                found = result(await served.call("count_orders", {}, known))
                assert found["structuredContent"] == {"result": 42}
            assert (await served.call("paid", {"id": "A-1"})).status == 401

    asyncio.run(scenario())
