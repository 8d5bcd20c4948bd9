"""Money: nothing is lost, whatever it is divided into."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tests.stdlib.functions import ending, module

money = module("money")
AMOUNTS = st.builds(lambda digits, places: Decimal(digits).scaleb(-places), st.integers(-(10**15), 10**15), st.integers(0, 5))
CURRENCIES = st.sampled_from(["EUR", "JPY", "KWD", "CLF", "XYZ"])
SHARES = st.lists(st.integers(0, 10**6), min_size=1, max_size=12)


def of(amount: Decimal, currency: str = "EUR") -> dict[str, object]:
    return {"amount": amount, "currency": currency}


@given(AMOUNTS, CURRENCIES, SHARES)
def test_the_parts_of_an_amount_are_the_amount(amount: Decimal, currency: str, shares: list[int]) -> None:
    parts = money.allocate(of(amount, currency), shares)
    if sum(shares) == 0:
        assert parts is None
        return
    assert len(parts) == len(shares)
    assert sum(Fraction(part["amount"]) for part in parts) == Fraction(amount)
    unit = Fraction(1, 10 ** money.places_of(currency))
    for part, share in zip(parts, shares, strict=True):
        assert part["currency"] == currency
        assert abs(Fraction(part["amount"]) - Fraction(amount) * share / sum(shares)) <= 2 * unit
        assert share or abs(Fraction(part["amount"])) == 0


@given(AMOUNTS, st.integers(1, 40))
def test_equal_parts_differ_by_one_unit(amount: Decimal, count: int) -> None:
    cents = money.rounded(of(amount), "HalfEven")
    parts = [part["amount"] for part in money.split(cents, count)]
    assert sum(parts) == cents["amount"]
    assert max(parts) - min(parts) <= Decimal("0.01")
    assert sorted(parts, key=abs, reverse=True) == parts


@given(AMOUNTS, AMOUNTS)
def test_sums_are_exact_and_of_one_currency(a: Decimal, b: Decimal) -> None:
    assert money.add(of(a), of(b)) == of(a + b)
    assert money.subtract(of(a), of(b)) == of(a - b)
    assert money.compare(of(a), of(b)) == (a > b) - (a < b)
    assert money.negate(of(a)) == of(-a)
    for name in ("add", "subtract", "compare"):
        told = ending(getattr(money, name), of(a, "EUR"), of(b, "USD"))
        assert told == ("OtherCurrency", {"left": "EUR", "right": "USD"})


@given(AMOUNTS, CURRENCIES)
def test_what_is_written_is_read(amount: Decimal, currency: str) -> None:
    one = of(amount, currency)
    for group, point in ((",", "."), (".", ",")):
        assert money.parse(money.format(one, group, point), group, point) == one
    units = money.to_units(one)
    assert units is None or money.from_units(units, currency) == one
    cents = money.rounded(one, "HalfUp")
    assert money.from_units(money.to_units(cents), currency) == cents


@given(st.text("EURUSD 0123.,-", max_size=12))
def test_any_text_is_an_amount_or_none(text: str) -> None:
    found = money.parse(text, ",", ".")
    assert found is None or found["currency"].isalpha()


def test_ten_thousand_shares() -> None:
    parts = money.allocate(of(Decimal("12345.67")), list(range(10_000)))
    assert sum(part["amount"] for part in parts) == Decimal("12345.67")
