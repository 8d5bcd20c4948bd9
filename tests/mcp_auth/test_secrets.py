"""No credential is in what a flow shows: errors, logs, reprs, tracebacks, in whatever form a server throws it back (fault kind K41)."""

from __future__ import annotations

import copy
import gc
import json
import logging
import pickle
import traceback
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from ael.mcp import oauth
from ael.mcp.failure import McpError
from ael.mcp.oauth.exchange import Exchange
from ael.mcp.oauth.token import Slot
from ael.net.client import Client
from ael.types.value import Secret
from tests.mcp_auth.authority import Site, plain, said
from tests.mcp_auth.support import SECRET, Clock, ask, facts, robot, run, user
from tests.net.loopback import Answer, Asked, whole

ODD = 'p%ss/w+rd="ä\\n&x'


def forms(value: str) -> set[str]:
    """How a value may come back."""
    data = value.encode()
    return {
        *(value, quote(value), quote(value, safe=""), quote_plus(value), json.dumps(value)[1:-1]),
        *(b64encode(data).decode().rstrip("="), urlsafe_b64encode(data).decode().rstrip("="), data.hex()),
        b64encode(f"robot:{quote(value, safe='')}".encode()).decode().rstrip("="),
    }


def clean(shown: str, secrets: Iterable[str]) -> None:
    for secret in secrets:
        for form in forms(secret):
            assert form not in shown, f"{form} in {shown}"


def told(problem: BaseException) -> str:
    """All that a log could hold of an error, with everything that led to it."""
    return "".join(traceback.format_exception(problem)) + repr(problem) + str(problem) + repr(vars(problem))


def echo(shape: Callable[[str], str]) -> Callable[[Asked], Answer]:
    """A token endpoint that throws back what it was sent."""

    def answer(asked: Asked) -> Answer:
        sent = [*plain(asked.body.decode()).values(), asked.headers.get("authorization", ""), asked.body.decode()]
        text = " ".join(shape(value) for value in sent)
        return said({"error": "invalid_client", "error_description": text}, 401)

    return answer


SHAPES: list[Callable[[str], str]] = [
    lambda value: value,
    lambda value: quote(value, safe=""),
    quote_plus,
    lambda value: b64encode(value.encode()).decode(),
    lambda value: urlsafe_b64encode(value.encode()).decode(),
    lambda value: b64encode(f"x:{value}".encode()).decode(),
    lambda value: value.encode().hex(),
    json.dumps,
]


@pytest.mark.parametrize("secret", ["robot-secret-4711", ODD])
@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
@pytest.mark.parametrize("shape", SHAPES, ids=[str(number) for number in range(len(SHAPES))])
def test_a_secret_that_is_thrown_back(
    secret: str, method: str, shape: Callable[[str], str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def test(site: Site) -> None:
        site.authority.changes["token_endpoint_auth_methods_supported"] = [method]
        site.authority.answers["/token"] = echo(shape)
        account = oauth.client_credentials(facts(site), "robot", secret=Secret("ROBOT", secret))
        with pytest.raises(McpError) as caught:
            await account.headers(5.0)
        clean(told(caught.value), [secret])
        clean(caplog.text, [secret])

    run(test)


@pytest.mark.parametrize("shape", SHAPES, ids=[str(number) for number in range(len(SHAPES))])
def test_what_a_flow_makes_up_is_not_shown_either(shape: Callable[[str], str]) -> None:
    async def test(site: Site) -> None:
        seen: list[str] = []

        def token(asked: Asked) -> Answer:
            form = plain(asked.body.decode())
            seen.extend((form["code"], form["code_verifier"]))
            return echo(shape)(asked)

        site.authority.answers["/token"] = token
        with pytest.raises(McpError) as caught:
            await ask(site, user(site))
        state = site.authority.authorizations[0]["state"]
        assert len(seen) == 2
        clean(told(caught.value), [*seen, state])

    run(test)


def test_a_refresh_token_and_a_registered_secret_that_are_thrown_back() -> None:
    clock = Clock()

    async def test(site: Site) -> None:
        site.authority.changes["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
        account = user(site, clock=clock)
        await ask(site, account)

        def token(asked: Asked) -> Answer:
            return whole(json.dumps({"error": "server_error", "error_description": asked.body.decode()}).encode(), status=400)

        site.authority.answers["/token"] = token
        clock.now += 3580
        sent = await account.headers(5.0)
        clock.now += 3600
        site.authority.tokens.clear()
        site.authority.answers["/register"] = lambda asked: said({"error": "x", "error_description": "no"}, 400)
        site.authority.redirect["code"] = "code-1-0815"
        with pytest.raises(McpError) as caught:
            await account.challenged(401, ["Bearer"], 5.0, sent=sent)
        clean(told(caught.value), ["refresh-0001-secret", "registered-secret-1", "token-registered-1-0001"])

    run(test)


def test_the_tokens_of_an_answer_that_cannot_be_used_are_not_shown() -> None:
    async def test(site: Site) -> None:
        for answer in (
            {"access_token": "token of two words 4711", "token_type": "Bearer"},
            {"access_token": "token-4711-abcdef", "token_type": "mac"},
            {"access_token": "token-4711-abcdef", "token_type": "Bearer", "expires_in": "token-4711-abcdef"},
        ):
            site.authority.answers["/token"] = lambda asked, answer=answer: said(answer)  # type: ignore[misc]
            with pytest.raises(McpError) as caught:
                await robot(site).headers(5.0)
            assert "4711" not in told(caught.value)

    run(test)


def test_a_key_of_a_url_is_not_shown() -> None:
    """Some servers have their key in the URL; errors name the host alone."""

    async def test(site: Site) -> None:
        where = oauth.ServerFacts(f"{site.mcp}?key=url-key-4711", hosts=facts(site).hosts)
        site.protected.changes["resource"] = "https://evil.example.com"
        with pytest.raises(McpError) as caught:
            await oauth.client_credentials(where, "robot", secret=SECRET).headers(5.0)
        clean(told(caught.value), ["url-key-4711"])
        site.protected.metadata = False
        account = oauth.authorization_code(where, lambda url: None, seconds=0.01)
        with pytest.raises(McpError) as caught:
            await account.challenged(401, ["Bearer"], 5.0)
        clean(told(caught.value), ["url-key-4711"])

    run(test)


def test_no_object_of_a_flow_shows_what_it_holds() -> None:
    held = ["robot-secret-4711", "token-robot-0001", "refresh-0001-secret", "token-registered-2-0002", "registered-secret-1"]

    async def test(site: Site) -> None:
        site.authority.changes["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]
        tokens = oauth.Tokens()
        accounts: list[Any] = [robot(site, tokens=tokens), user(site, tokens=tokens), oauth.bearer(SECRET)]
        for account in accounts[:2]:
            await ask(site, account)
        given = [await account.headers(5.0) for account in accounts]
        # Everything of this package that is alive now: what a debugger or a crash report walks over.
        alive = [thing for thing in gc.get_objects() if str(type(thing).__module__).startswith("ael.mcp.oauth")]
        for part in (*accounts, *given, tokens, *alive):
            clean(repr(part) + str(part), held)
        # What stays after a flow holds secrets as such in each of its members.
        slots = [thing for thing in alive if isinstance(thing, Slot)]
        assert len(slots) >= 2
        for part in (*accounts, tokens, *slots, *(slot.token for slot in slots if slot.token is not None)):
            clean(repr(vars(part)), held)

    run(test)


def test_a_token_is_no_value_that_can_be_stored() -> None:
    async def test(site: Site) -> None:
        account = robot(site)
        given = await account.headers(5.0)
        for store in (pickle.dumps, copy.deepcopy):
            with pytest.raises(TypeError):
                store(given["authorization"])
        with pytest.raises(TypeError):
            json.dumps(dict(given))

    run(test)


def test_half_a_secret_at_the_edge_of_an_excerpt_is_none() -> None:
    asking = Exchange(Client())
    asking.hide("robot-secret-4711")
    for before in range(150, 205):
        shown = asking.outside("x" * before + "robot-secret-4711" + "y" * 300)
        assert "robot" not in shown
        assert "4711" not in shown
