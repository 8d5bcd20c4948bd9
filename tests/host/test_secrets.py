"""Where secrets come from: variables, files, the keyring of the operating system; and those that a tenant has of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import InitError

from ael.diagnostics.diagnostic import Bag
from ael.host import HostError, open_host
from ael.hosting import secrets as hosting
from ael.hosting.secrets import Secrets
from ael.project.deployment import Deployment, SecretSource
from ael.project.program import open_program
from ael.run.bindings import Options
from ael.run.outcome import Value
from tests.models.support import completion
from tests.net.loopback import Answer, Asked, Loopback
from tests.programs import write

IN_KEYRING = SecretSource("keyring", "token", "desk")


class Kept(KeyringBackend):  # type: ignore[misc]  # the library's own plugin interface
    """A keyring in memory."""

    priority = 1.0  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.asked = 0
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        self.asked += 1
        if self.locked:
            raise InitError("the collection is locked")
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


@pytest.fixture
def ring() -> Iterator[Kept]:
    before, made = keyring.get_keyring(), Kept()
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)


@pytest.mark.feature("A9.15")
def test_a_secret_is_read_from_the_keyring_when_it_is_needed(ring: Kept) -> None:
    keyring.set_password("desk", "token", "kept-0815")
    secrets = Secrets(Deployment(secrets={"T": IN_KEYRING}))
    assert ring.asked == 0
    assert secrets.get("T").reveal() == secrets.get("T").reveal() == "kept-0815"
    assert ring.asked == 1
    assert "kept-0815" not in f"{secrets.get('T')!r} {secrets.get('T')}"


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("empty", "which keeps nothing there"),
        ("locked", "cannot be asked: the collection is locked"),
        ("missing", "needs a package"),
    ],
)
def test_a_keyring_that_gives_nothing_is_told(ring: Kept, monkeypatch: pytest.MonkeyPatch, state: str, said: str) -> None:
    ring.locked = state == "locked"
    if state == "missing":
        monkeypatch.setattr(hosting, "find_spec", lambda name: None)
    with pytest.raises(HostError) as caught:
        Secrets(Deployment(secrets={"T": IN_KEYRING})).get("T")
    assert caught.value.code == "AEL0831"
    assert "`token` of `desk` in the keyring" in caught.value.message
    assert said in caught.value.message


@pytest.mark.feature("K43")
def test_a_tenants_own_secret_goes_before_the_common_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMON", "for-all")
    monkeypatch.setenv("ACME", "for-acme")
    monkeypatch.setenv("ANN", "for-ann")
    own = {("acme", "T"): SecretSource("env", "ACME"), ("acme/ann", "T"): SecretSource("env", "ANN")}
    secrets = Secrets(Deployment(secrets={"T": SecretSource("env", "COMMON")}, owned_secrets=own))
    assert [secrets.get("T", tenant).reveal() for tenant in ("", "acme", "beta")] == ["for-all", "for-acme", "for-all"]
    assert [secrets.get("T", tenant, "ann").reveal() for tenant in ("acme", "beta")] == ["for-ann", "for-all"]
    assert sorted(one.reveal() for one in secrets.known.values()) == ["for-acme", "for-all", "for-ann"], (
        "all are known, to be masked"
    )


PROGRAM = """
model fast {
  provider openai
  name "gpt-5-mini"
}

node main(question: String(max: 80) = "q") -> String
  model fast
  policy one_call
  budget tokens 2_000, time 20s
{
  instructions "Answer."
}
"""


@pytest.mark.feature("B13", "K43")
def test_a_model_is_asked_with_the_key_of_the_runs_tenant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tenants, two keys, one program; who has none of its own uses the common one."""
    for name in ("COMMON", "ACME"):
        monkeypatch.setenv(name, f"key-of-{name.lower()}")
    keys: list[str] = []

    def answer(asked: Asked) -> Answer:
        keys.append(asked.headers["authorization"].removeprefix("Bearer "))
        return completion(content="hello")

    async def test() -> None:
        async with Loopback(answer) as running:
            host_name = running.url.removeprefix("http://").partition("/")[0]
            deploy = (
                f'host "{host_name}"\nsecret KEY = env("COMMON")\nsecret acme.KEY = env("ACME")\ntenant acme {{\n}}\ntenant beta {{\n}}\n'
                f'model fast = openai("gpt-5-mini", key: secret("KEY"), endpoint: "{running.url}/v1", stream: false)\n'
                'price "gpt-5-mini" input $1.00 output $1.00\n'
            )
            write(tmp_path, {"main.ael": PROGRAM, "deploy.ael": deploy})
            bag = Bag()
            opened = open_program(tmp_path / "main.ael", bag)
            assert opened is not None, bag.sorted()
            async with open_host(opened) as host:
                for tenant in ("acme", "beta", "acme"):
                    outcome = await host.engine.start("main", {}, Options(tenant, "c")).outcome()
                    assert isinstance(outcome, Value), outcome

    asyncio.run(test())
    assert keys == ["key-of-acme", "key-of-common", "key-of-acme"]
