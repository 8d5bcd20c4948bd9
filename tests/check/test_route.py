"""The ways through an agent: what is reached, what has surely come, what can go round, and how branches can come to no good end."""

from __future__ import annotations

import pytest

from ael.check.route import Trouble, arrived, cycles, finishing, reached, trouble
from ael.types.agent import EdgeSpec, Routes, routes


def made(*lines: str) -> Routes:
    """Routes from `a, b -> c`, `a & b -> c`, with `?` for a choice, `!` for an error, `<3` for a bound behind them."""
    edges = []
    for line in lines:
        ends, *words = line.split("  ")
        sources, target = ends.split(" -> ")
        joined = " & " in sources
        names = tuple(sources.split(" & " if joined else ", "))
        limit = next((int(word[1:]) for word in words if word[0] == "<"), None)
        choice = "?" in words or limit is not None
        edges.append(EdgeSpec(names, joined, target, None, choice, False, ("Fault",) if "!" in words else (), limit))
    return routes(edges)


FORK = ("start -> a", "a -> b", "a -> c")


def test_branches_that_are_joined_come_to_a_good_end() -> None:
    assert trouble(made(*FORK, "b & c -> d", "d -> finish")) is None
    assert trouble(made(*FORK, "a -> e", "c & b -> d", "d & e -> finish")) is None, "joins need not be nested as forks are"
    assert trouble(made("start -> a", "a -> b  ?", "a -> c  ?", "b, c -> finish")) is None


@pytest.mark.feature("K39")
def test_a_branch_that_outlives_the_finish() -> None:
    assert trouble(
        made(*FORK, "c -> d", "d -> e", "e -> e  <3", "e -> f  ?", "b -> finish", "f -> g", "b & g -> h", "h -> finish")
    ) == (Trouble("beside", "finish", ("d",)))
    assert trouble(made(*FORK, "b & c -> finish", "b -> finish  !")) == Trouble("beside", "finish", ("c",))


@pytest.mark.feature("K39")
def test_a_join_that_can_wait_for_ever() -> None:
    assert trouble(made("start -> a", "a -> b  ?", "a -> c  ?", "b & c -> finish")) == Trouble("waits", "b & c", ("c",))
    found = trouble(made(*FORK, "b -> d  ?", "b -> e  ?", "c & d -> finish", "c & e -> finish"))
    assert found is not None


def test_two_branches_at_one_point() -> None:
    assert trouble(made(*FORK, "b, c -> d", "d -> finish")) == Trouble("beside", "d", ("d",))


def test_many_branches_with_many_choices_are_told() -> None:
    forks = [f"start -> x{at}" for at in range(12)]
    ways = [f"x{at} -> y{at}{way}  ?" for at in range(12) for way in range(5)]
    ends = [f"y{at}{way} -> z{at}" for at in range(12) for way in range(5)]
    join = f"{' & '.join(f'z{at}' for at in range(12))} -> finish"
    assert trouble(made(*forks, *ways, *ends, join)) == Trouble("many", "start", ())


def test_what_has_surely_come_is_what_came_on_every_way() -> None:
    found = arrived(made("start -> a", "a -> b  ?", "a -> c  ?", "b -> c", "c -> finish", "c -> d  !", "d -> finish"))
    assert found["b"] == {"a"}
    assert found["c"] == {"a"}, "`b` came on one of two ways"
    assert found["d"] == {"a"}, "what failed gave nothing"
    assert found["finish"] == {"a"}, "and so it is not there behind it"


def test_a_join_knows_what_all_of_its_sources_know() -> None:
    found = arrived(made(*FORK, "b -> e", "e & c -> d", "d -> finish"))
    assert found["c & e"] == {"a", "b", "c", "e"}
    assert found["d"] == {"a", "b", "c", "e"}


def test_a_way_round_takes_nothing_away_and_adds_nothing() -> None:
    found = arrived(made("start -> a", "a -> b", "b -> a  <3", "b -> finish  ?"))
    assert found["a"] == frozenset(), "the first time nothing has come"
    assert found["finish"] == {"a", "b"}


def test_only_ways_without_a_bound_go_round() -> None:
    assert cycles(made("start -> a", "a -> b", "b -> a  <3", "b -> finish  ?")) == []
    assert [sorted(one) for one in cycles(made("start -> a", "a -> b", "b -> a  ?", "b -> finish  ?"))] == [["a", "b"]]
    assert [sorted(one) for one in cycles(made("start -> a", "a -> finish", "a -> a  !"))] == [["a"]]
    [found] = cycles(made(*FORK, "b & c -> d", "d -> a  ?", "d -> finish  ?"))
    assert sorted(found) == ["a", "b", "b & c", "c", "d"], "a join is a way, too"


def test_what_is_reached_and_what_comes_to_the_end() -> None:
    found = made("start -> a", "a -> finish", "a -> b  !", "b -> c", "c -> b", "d -> a")
    assert reached(found) == {"start", "a", "b", "c", "finish"}
    assert finishing(found) == {"start", "a", "d", "finish"}
