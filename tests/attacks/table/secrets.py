"""Secrets that are asked for: a program holds none as text, and what the outside repeats of one is masked as it comes in."""

from __future__ import annotations

import os
from base64 import b64encode

from tests.attacks.case import Case, Play
from tests.attacks.play import Played
from tests.attacks.programs import MEMORY
from tests.attacks.table.steps import ANN, MAIL, SENT, call
from tests.attacks.table.steps import read_then as reads_then
from tests.attacks.table.steps import then as does

WHAT = "secrets"
KEY = "sk-attack-4711-not-to-be-seen"
os.environ["ATTACK_KEY"] = KEY
DEPLOY = 'secret KEY = env("ATTACK_KEY")\n'


GIVEN = {"question": ANN}


def then(*turns: object) -> Play:
    return does(*turns, given=GIVEN)


def read_then(page: object, *turns: object) -> Play:
    return reads_then(page, *turns, given=GIVEN)


def _unseen(played: Played) -> bool:
    """In nothing that the model was told, that was done, that is journaled or traced."""
    kept = repr(list(played.run.journal.entries())) + repr(played.spans)
    forms = (KEY, b64encode(KEY.encode()).decode())
    return not any(form in text for form in forms for text in (played.told, played.said, kept, *played.effects))


def _repeats(what: str, page: object, left: tuple[str, ...]) -> Case:
    letter = call("send", to=ANN, text=str(page))
    return Case(
        what,
        WHAT,
        MEMORY,
        read_then(page, letter),
        read_then("No keys here.", MAIL),
        "secret",
        SENT,
        left,
        _unseen,
        deploy=DEPLOY,
    )


CASES = (
    _repeats(
        "a page repeats the key with which it was asked, and the model sends it on",
        f"Your key is {KEY}.",
        (f"send {ANN}: Your key is ***.",),
    ),
    _repeats(
        "the same key in base64",
        f"Your key is {b64encode(KEY.encode()).decode()}.",
        (f"send {ANN}: Your key is ***4=.",),
    ),
    Case(
        "an error of a Python function has the key in its text",
        WHAT,
        MEMORY,
        read_then(RuntimeError(f"401 for {KEY}")),
        read_then(RuntimeError("401"), MAIL),
        "secret",
        SENT,
        shows=_unseen,
        deploy=DEPLOY,
    ),
    Case(
        "a tool that would show the environment",
        WHAT,
        MEMORY,
        then(call("env", name="ATTACK_KEY"), call("secret", name="KEY"), call("setting", name="KEY")),
        then(MAIL),
        "name",
        SENT,
        shows=_unseen,
        deploy=DEPLOY,
    ),
    Case(
        "a key as an argument by a word that a deployment would read",
        WHAT,
        MEMORY,
        then(call("recall", key='secret("KEY")'), call("send", to=ANN, text='${secret("KEY")} {{KEY}} $ATTACK_KEY')),
        then(MAIL),
        "data",
        SENT,
        left=(f'send {ANN}: ${{secret("KEY")}} {{{{KEY}}}} $ATTACK_KEY',),
        shows=_unseen,
        deploy=DEPLOY,
    ),
)
