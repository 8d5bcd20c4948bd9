"""The line of a deployment that says how `std/web` searches and which pages it may fetch.

`web = search("https://search.example.com/find", key: secret("KEY"))`, `web = searxng("https://…")`, `web = brave(key: secret("KEY"))`, or
without a search `web = pages(hosts: ["docs.python.org", "*.wikipedia.org"])`. All take `hosts`, `anywhere`, `agent` and `max`.
"""

from __future__ import annotations

from typing import Literal, cast

from ael.check.url import url_problem
from ael.data import dataclass
from ael.project.bind_http import AGENT, agent_of, hosts_of, max_of, secret_of
from ael.project.bind_state import State, argument, construct, value
from ael.project.form import FORMS
from ael.project.literal import Construct
from ael.project.wrong import Wrong, listing
from ael.syntax import nodes as n

Shape = Literal["search", "searxng", "brave"]
"""Which JSON the search speaks: the small contract of `docs/web.md`, that of SearXNG, or that of the Brave Search API."""
BRAVE = "https://api.search.brave.com/res/v1/web/search"
BYTES = 2 << 20
"""How much of a page is read where the deployment says nothing."""
MAX_BYTES = 4 << 20
"""How much of a page is read, at most: it is bounded once more by the characters that a call asks for."""
_KINDS = ("search", "searxng", "brave", "pages")
_OPTIONS = ("hosts", "anywhere", "agent", "max")


@dataclass(frozen=True)
class SearchBinding:
    """Where searches go. `key`: the name of a secret, sent as that API wants it."""

    shape: Shape
    url: str
    key: str | None


@dataclass(frozen=True)
class WebBinding:
    """What a deployment says of `std/web`. `hosts`: what `web_fetch` may ask for; `anywhere`: every public host. `max_bytes`: of a page."""

    search: SearchBinding | None = None
    hosts: tuple[str, ...] = ()
    anywhere: bool = False
    agent: str = AGENT
    max_bytes: int = BYTES

    @property
    def shown(self) -> str:
        """Where searches go, and what `web_fetch` may ask for."""
        where = "no search" if self.search is None else f"{self.search.shape} {self.search.url}"
        pages = "every public host" if self.anywhere else ", ".join(self.hosts) or "only what `host` lines list"
        return f"{where}; fetches {pages}"


def web(state: State, binding: n.Binding) -> None:
    """`web = …`."""
    if "web" in state.natives:
        raise Wrong("AEL0813", "`web` is bound twice", binding.kind)
    found = construct(binding, _KINDS)
    node = value(binding)
    known = (*_OPTIONS, "key") if found.name != "pages" else _OPTIONS
    for word in found.named:
        if word not in known:
            raise Wrong("AEL0814", f"`{found.name}` has no `{word}`", argument(node, word), listing("there is", known))
    anywhere = found.named.get("anywhere", False)
    if not isinstance(anywhere, bool):
        message = "`anywhere` is `true` or `false`: whether `web_fetch` may ask every public host"
        raise Wrong("AEL0814", message, argument(node, "anywhere"))
    search = None if found.name == "pages" else _search(state, found, node)
    given = max_of(found, node, MAX_BYTES) if "max" in found.named else BYTES
    state.natives["web"] = WebBinding(search, hosts_of(found, node), anywhere, agent_of(found, node), given)


def _search(state: State, found: Construct, node: n.Expr) -> SearchBinding:
    shape = cast("Shape", found.name)
    url = BRAVE if shape == "brave" and not found.positional else None
    if url is None:
        match found.positional:
            case (str(said),):
                url = said
            case _:
                raise Wrong("AEL0814", f"`{shape}` takes the address that is asked", node, f"it is written {FORMS['web']}")
        problem = url_problem(url, state.hosts, "a search")
        if problem is not None:
            raise Wrong("AEL0815" if problem.secret else "AEL0814", problem.message, node, problem.note)
        if "?" in url:
            raise Wrong("AEL0814", "the address of a search has no `?`: what is asked is added to it", node)
    key = found.named.get("key")
    if key is None and shape == "brave":
        raise Wrong("AEL0814", "`brave` needs a key", node, 'write `key: secret("NAME")`')
    return SearchBinding(shape, url, None if key is None else secret_of(state, key, argument(node, "key"), "a key"))
