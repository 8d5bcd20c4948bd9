"""What a visit of a model-driven node would send first, how large it is, and what it can cost (feature B2). Nothing is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from ael.host import Host
from ael.project.reach import models_of, reachable
from ael.run.bindings import BoundModel
from ael.run.budget import ZERO, tighter, worst_cost
from ael.run.conversation import Setup
from ael.run.node import ModelNodePlan
from ael.run.ports import ConversationSpec, ModelError, Price
from ael.run.turn import BYTES_PER_TOKEN, estimated_tokens
from ael.types.spec import BudgetSpec


@dataclass(frozen=True)
class Sent:
    """The first request of a visit with one model of the chain. `bytes`: of the encoded request; `price` None when unknown."""

    model: str
    name: str
    provider: str
    bytes: int
    tokens: int
    price: Price | None
    prompt_cost: Decimal | None
    problem: str | None


@dataclass(frozen=True)
class Prompt:
    """Everything that a preview shows. `most` is the most money that a visit can take, None when nothing bounds it."""

    node: str
    setup: Setup
    user: str
    missing: tuple[str, ...]
    chain: tuple[Sent, ...]
    budget: BudgetSpec
    most: Decimal | None
    notes: tuple[str, ...]


def look(host: Host, plan: ModelNodePlan, user: str, missing: tuple[str, ...]) -> Prompt:
    """The prompt of a visit of `plan` whose user message is `user`; `missing` are the parameters whose values are not in it."""
    setup = plan.setup()
    budget = tighter(plan.budget, host.bindings.run_budget)
    chain = tuple([_sent(host, name, bound, setup, user) for name, bound in plan.chain])
    return Prompt(
        plan.short, setup, user, missing, chain, budget, _most(host, plan, chain, budget), tuple(_notes(host, chain, budget))
    )


def _sent(host: Host, name: str, bound: BoundModel, setup: Setup, user: str) -> Sent:
    spec = ConversationSpec(
        bound.model, bound.settings, setup.system, setup.offers, setup.output, setup.tool_choice, setup.parallel_calls
    )
    provider = bound.provider
    problem = None
    try:
        conversation = provider.converse(spec)
        conversation.user(user)
        size = conversation.size
    except ModelError as error:
        size, problem = 0, error.message
    tokens = estimated_tokens(size)
    price = _price(host, bound)
    cost = None if price is None else worst_cost(tokens, 0, price.at(tokens))
    return Sent(name.rpartition(".")[2], bound.model, provider.name, size, tokens, price, cost, problem)


def _price(host: Host, bound: BoundModel) -> Price | None:
    prices = host.bindings.prices
    return None if prices is None else prices.price(bound.provider.name, bound.model)


def _most(host: Host, plan: ModelNodePlan, chain: tuple[Sent, ...], budget: BudgetSpec) -> Decimal | None:
    """The most that a visit can take under its budget, with all that it calls: its tokens at their dearest, or its money limit."""
    program = host.opened.program
    rates: list[Price] = []
    for name in models_of(program, reachable(program, plan.name)):
        bound = host.bindings.models.get(name)
        price = None if bound is None else _price(host, bound)
        if price is None:
            # Under a money budget a model without a price is never asked.
            return budget.cost
        rates.append(price)
    if budget.tokens is None or not chain or not rates:
        return budget.cost
    alone = len(rates) == len(chain)
    bounds = [_bound(host, sent, budget, rates, alone) for sent in chain]
    return max(bounds) if budget.cost is None else min(budget.cost, max(bounds))


def _bound(host: Host, sent: Sent, budget: BudgetSpec, rates: list[Price], alone: bool) -> Decimal:
    tokens = budget.tokens or 0
    if budget.steps == 0 or sent.tokens >= tokens or sent.price is None:
        return ZERO
    output = tokens - sent.tokens
    if budget.steps == 1 and alone:
        provider = next(bound.provider for bound in host.bindings.models.values() if bound.model == sent.name)
        return worst_cost(sent.tokens, min(output, provider.max_output), sent.price.at(sent.tokens))
    dearest = max(_dearest(rate) for rate in rates)
    return worst_cost(sent.tokens, 0, sent.price.at(sent.tokens)) + output * dearest / 1_000_000


def _dearest(price: Price) -> Decimal:
    here = max(price.input, price.output, price.cache_read, price.cache_write)
    return max([here, *(_dearest(other) for _, other in price.above)])


def _notes(host: Host, chain: tuple[Sent, ...], budget: BudgetSpec) -> Iterator[str]:
    yield from host.warnings
    for sent in chain:
        if sent.problem is not None:
            yield f"`{sent.model}` cannot be sent this: {sent.problem}"
        if budget.tokens is not None and sent.tokens >= budget.tokens:
            tokens = f"{budget.tokens:,} tokens"
            yield f"the prompt alone takes more than the {tokens} of the budget: a visit ends before it asks `{sent.model}`"
        if sent.price is None and budget.cost is not None:
            why = f"the price of `{sent.name}` is not known, and a money budget holds"
            yield f"{why}: it is not asked; give its price in the deployment"
    if budget.steps == 0:
        yield "the budget has no model turn: a visit ends before it asks"


# --- showing it --------------------------------------------------------------------------------------------------------


def text(prompt: Prompt) -> str:
    """The preview for people."""
    setup = prompt.setup
    parts = [f"# {prompt.node}", "", "## System message", "", setup.system, "", "## User message", "", prompt.user]
    if prompt.missing:
        parts += [
            "",
            f"(without the values of {', '.join(f'`{name}`' for name in prompt.missing)}: give them as flags to count them)",
        ]
    for offer in setup.offers:
        parts += ["", f"## Tool {offer.name}", "", offer.description or "(no description)", "", _json(offer.schema)]
    parts += ["", "## Result", "", "plain text" if setup.output.text else _json(setup.output.schema), "", "## Size and price", ""]
    for sent in prompt.chain:
        parts.append(
            f"{sent.model} ({sent.provider} {sent.name}): {sent.bytes:,} bytes, some {sent.tokens:,} tokens; {_priced(sent)}"
        )
    parts.append(f"a visit: at most {_limits(prompt.budget)}, so {_at_most(prompt)}")
    parts += [f"note: {note}" for note in prompt.notes]
    return "\n".join(parts)


def _priced(sent: Sent) -> str:
    if sent.price is None or sent.prompt_cost is None:
        return "its price is not known"
    if not _dearest(sent.price):
        return "free"
    since = f", since {sent.price.since}" if sent.price.since else ""
    rate = sent.price.at(sent.tokens)
    return f"{money(sent.prompt_cost)} ({money(rate.input)} in, {money(rate.output)} out for a million{since})"


def _at_most(prompt: Prompt) -> str:
    if prompt.most is None:
        return "nothing bounds what it costs: give the node `budget cost $…`"
    if not prompt.most and all(sent.price is not None and not _dearest(sent.price) for sent in prompt.chain):
        return "it costs nothing"
    return f"it costs at most {money(prompt.most)}, as far as {BYTES_PER_TOKEN} bytes are a token"


def _limits(budget: BudgetSpec) -> str:
    said = [
        (budget.steps, "1 model turn" if budget.steps == 1 else f"{budget.steps} model turns"),
        (budget.tool_calls, "1 tool call" if budget.tool_calls == 1 else f"{budget.tool_calls} tool calls"),
        (budget.tokens, f"{budget.tokens or 0:,} tokens"),
        (budget.cost, money(budget.cost or ZERO)),
        (budget.time, f"{(budget.time or 0) / 1000:g} s"),
    ]
    return ", ".join(shown for limit, shown in said if limit is not None)


def money(amount: Decimal) -> str:
    """`$0.000853`, `$1.00`, `$0`: exact up to a millionth of a cent, with at least two digits."""
    if not amount:
        return "$0"
    rounded = f"{amount:.8f}".rstrip("0")
    whole, _, part = rounded.partition(".")
    return f"${whole}.{part.ljust(2, '0')}"


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def plain(prompt: Prompt) -> dict[str, object]:
    """The preview as JSON; money as text, in dollars."""
    setup, budget = prompt.setup, prompt.budget
    return {
        "node": prompt.node,
        "system": setup.system,
        "user": prompt.user,
        "missing": list(prompt.missing),
        "tools": [{"name": one.name, "description": one.description, "schema": dict(one.schema)} for one in setup.offers],
        "tool_choice": setup.tool_choice,
        "output": {"text": setup.output.text, "schema": dict(setup.output.schema)},
        "models": [
            {
                "model": sent.model,
                "provider": sent.provider,
                "name": sent.name,
                "bytes": sent.bytes,
                "tokens": sent.tokens,
                "price": None if sent.price is None else _rate(sent.price.at(sent.tokens), sent.price.since),
                "prompt_cost": None if sent.prompt_cost is None else f"{sent.prompt_cost:f}",
            }
            for sent in prompt.chain
        ],
        "budget": {
            "steps": budget.steps,
            "tool_calls": budget.tool_calls,
            "tokens": budget.tokens,
            "cost": None if budget.cost is None else f"{budget.cost:f}",
            "milliseconds": budget.time,
        },
        "most": None if prompt.most is None else f"{prompt.most:f}",
        "notes": list(prompt.notes),
    }


def _rate(price: Price, since: str) -> dict[str, object]:
    return {"input": f"{price.input:f}", "output": f"{price.output:f}", "since": since or None}
