"""The settings of an `mcp` block: where the server is and which credential it is asked with, as far as a program says it.

Where a credential goes is the deployment's word: a program that names one leaves the address to a setting (mcp.md: "Credentials are
named, never in source, sent only to their own origin").
"""

from __future__ import annotations

from collections.abc import Callable

from ael.check.suggest import did_you_mean
from ael.diagnostics.diagnostic import Bag, Label, Place
from ael.diagnostics.hidden import without_strings
from ael.source import Source
from ael.syntax import nodes as n
from ael.types.spec import ServerSpec

SETTINGS = ("url", "credential")
_FORMS = {
    "url": '`url setting("CRM_URL")` or `url "https://crm.example.com/mcp"`',
    "credential": '`credential secret("CRM_TOKEN")`',
}


def server_spec(node: n.McpDecl, name: str, doc: str, uses: tuple[str, ...]) -> ServerSpec:
    """What the settings of a block amount to; what is wrong in them is left out."""
    url = url_setting = credential = None
    for setting in node.settings:
        if setting.name.text == "url":
            url = url or text_of(setting.value)
            url_setting = url_setting or called(setting.value, "setting")
        elif setting.name.text == "credential":
            credential = credential or called(setting.value, "secret")
    return ServerSpec(name, doc, uses, url, None if url is not None else url_setting, credential)


def check_settings(node: n.McpDecl, source: Source, bag: Bag) -> None:
    """Report what is wrong with the settings of a block."""
    first: dict[str, n.Setting] = {}
    for setting in node.settings:
        word = setting.name.text
        if word not in SETTINGS:
            end, fix = did_you_mean(word, SETTINGS, source, setting.name.span)
            message = f"an `mcp` block has no setting `{word}`{end}"
            notes = ("it has `url` and `credential`; how a server is reached is said in `deploy.ael`: `mcp NAME = http(…)`",)
            bag.report("AEL1207", message, source, setting.name.span, notes=notes, fix=fix)
            continue
        before = first.setdefault(word, setting)
        if before is not setting:
            labels = (Label(Place(source, before.span), "said here already"),)
            bag.report("AEL1207", f"`{word}` is said twice", source, setting.span, labels=labels)
            continue
        _ONE[word](setting, source, bag)
    url, credential = first.get("url"), first.get("credential")
    if url is not None and credential is not None and text_of(url.value) is not None:
        message = "a credential goes where the deployment says, and this address is written in the program"
        labels = (Label(Place(source, credential.span), "the credential"),)
        notes = ('say `url setting("NAME")`, and in `deploy.ael` what it is: `setting NAME = "https://…"`',)
        bag.report("AEL1208", message, source, url.value.span, labels=labels, notes=notes)


def _url(setting: n.Setting, source: Source, bag: Bag) -> None:
    value = setting.value
    url = text_of(value)
    if url is not None:
        # Addresses are looked at in the few programs that hold one.
        from ael.check.url import url_problem

        problem = url_problem(url, None)
        if problem is not None:
            shown = without_strings(source, value.span) if problem.secret else source
            bag.report("AEL1208", problem.message, shown, value.span, notes=(problem.note,))
    elif called(value, "setting") is None:
        message = "the address of a server is a plain text, or a setting of the deployment"
        bag.report("AEL1207", message, source, value.span, notes=(f"it is written {_FORMS['url']}",))


def _credential(setting: n.Setting, source: Source, bag: Bag) -> None:
    if called(setting.value, "secret") is None:
        message = "a credential is a named secret of the deployment, never text in a program"
        bag.report(
            "AEL1207",
            message,
            without_strings(source, setting.value.span),
            setting.value.span,
            notes=(f"it is written {_FORMS['credential']}",),
        )


_ONE: dict[str, Callable[[n.Setting, Source, Bag], None]] = {"url": _url, "credential": _credential}


def text_of(node: n.Expr) -> str | None:
    """The text of a string without `${…}`, None for anything else."""
    if isinstance(node, n.StringLit) and all(isinstance(part, n.TextPart) for part in node.parts):
        return "".join(part.text for part in node.parts if isinstance(part, n.TextPart))
    return None


def called(node: n.Expr, word: str) -> str | None:
    """The NAME of `setting("NAME")`, None for anything else."""
    match node:
        case n.Call(callee=n.Reference(name=name), arguments=(n.Argument(name=None, value=value),)) if name.text == word:
            return text_of(value) or None
        case _:
            return None
