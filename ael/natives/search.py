"""What searches are asked, and what they answer: our own small contract, SearXNG's JSON, and that of the Brave Search API.

Ours: `GET URL?q=…&count=8` with `Authorization: Bearer …`; `{"results": [{"title": "…", "url": "https://…", "snippet": "…"}]}`.
SearXNG: `GET URL?q=…&format=json`, `results[].title`, `.url`, `.content` (https://docs.searxng.org/dev/search_api.html).
Brave: `GET URL?q=…&count=8` with `X-Subscription-Token`, `web.results[].title`, `.url`, `.description`
(https://api-dashboard.search.brave.com/app/documentation/web-search/get-started).
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from urllib.parse import urlencode

from ael.project.bind_web import SearchBinding, Shape
from ael.types.json import read
from ael.types.limits import Limits
from ael.types.value import Secret

_MOST = {"title": 500, "url": 4_096, "snippet": 2_000}
_LIMITS = Limits(entries=10_000, depth=32)
_MARKUP = re.compile(r"</?(?:strong|em|b|i)>")
"""What searches put around the words that were found."""


def question(search: SearchBinding, query: str, count: int, key: Secret | None) -> tuple[str, dict[str, str | Secret]]:
    """The address and the headers that a search is asked with. The key is in no address."""
    asked: dict[str, str] = {"q": query}
    headers: dict[str, str | Secret] = {"accept": "application/json"}
    match search.shape:
        case "searxng":
            asked["format"] = "json"
        case "brave" | "search":
            asked["count"] = str(count)
    if key is not None and search.shape == "brave":
        headers["x-subscription-token"] = key
    elif key is not None:
        headers["authorization"] = Secret(key.name, f"Bearer {key.reveal()}")
    return f"{search.url}?{urlencode(asked)}", headers


def found_in(shape: Shape, text: str, count: int) -> list[dict[str, object]]:
    """The hits in an answer: those that have an address of the web, the first `count`. Raises `ValueError` for one of another shape."""
    whole = read(text, _LIMITS, max_bytes=1 << 20)
    if shape == "brave":
        # Brave leaves out what it has nothing of.
        whole = whole.get("web", {"results": []}) if isinstance(whole, Mapping) else whole
    results = whole.get("results") if isinstance(whole, Mapping) else None
    if not isinstance(results, list):
        raise ValueError("it has no list of `results`")
    name = {"search": "snippet", "searxng": "content", "brave": "description"}[shape]
    hits: list[dict[str, object]] = []
    for one in results:
        if not isinstance(one, Mapping):
            raise ValueError("a result is no object")
        url, title = one.get("url"), _plain(one.get("title"), "title")
        if not isinstance(url, str) or len(url) > _MOST["url"] or not url.startswith(("https://", "http://")):
            continue
        hits.append({"title": title or url[: _MOST["title"]], "url": url, "snippet": _plain(one.get(name), "snippet")})
        if len(hits) == count:
            break
    return hits


def _plain(given: object, field: str) -> str:
    """One line of text, without the search's markup."""
    if not isinstance(given, str):
        return ""
    return " ".join(html.unescape(_MARKUP.sub("", given)).split())[: _MOST[field]]
