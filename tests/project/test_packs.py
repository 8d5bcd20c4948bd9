"""Packs that depend on packs: which pack is meant, what it shows, and what it may do."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ael.diagnostics.diagnostic import Bag
from ael.project.pack import load_pack
from ael.project.packs import chains, resolve_packs
from ael.project.program import check_paths, programs
from ael.run.outcome import DeclaredError, Value
from ael.types.version import parse_requirement, parse_version
from tests.programs import run, write
from tests.project.packs import ALL, DESK, LEDGER, REFUNDS, codes, opened, pack


def test_a_program_over_two_packs_runs(tmp_path: Path) -> None:
    program, said = opened(tmp_path, ALL)
    assert said == []
    assert program is not None
    assert set(program.program.modules) == {"main", "refunds/main", "refunds/money", "refunds/_rates", "ledger/main"}
    done = run(program, {"n": 4}).outcome
    assert isinstance(done, Value)
    assert done.plain == {"amount": 17}
    failed = run(program, {"n": 400}).outcome
    assert isinstance(failed, DeclaredError)
    assert failed.error == "refunds/main.TooMuch"


def test_advice_about_a_dependency_is_told_to_its_writer_alone(tmp_path: Path) -> None:
    write(tmp_path, ALL)
    alone, everything = Bag(), Bag()
    check_paths([tmp_path / "desk"], alone)
    assert alone.sorted() == []
    check_paths([tmp_path], everything)
    assert [(d.code, d.place.source.path) for d in everything.sorted()] == [("AEL1101", tmp_path / "refunds" / "main.ael")]


def test_every_pack_below_a_folder_is_checked_also_where_another_depends_on_it(tmp_path: Path) -> None:
    write(tmp_path, {**ALL, "refunds/deploy.ael": "nonsense = 1\n"})
    bag = Bag()
    assert check_paths([tmp_path], bag) == 5
    assert "AEL0811" in [d.code for d in bag.sorted()]


def test_the_tests_of_a_dependency_are_its_own(tmp_path: Path) -> None:
    write(tmp_path, ALL)
    (desk,) = programs([tmp_path / "desk"], Bag())
    assert desk.program.tests == ()
    (refunds,) = programs([tmp_path / "refunds"], Bag())
    assert [test.name for test in refunds.program.tests] == ["its own"]


# --- visibility ------------------------------------------------------------------------------------------------------------


def used(*lines: str) -> dict[str, str]:
    """The desk with other `use` lines, which are all that is looked at."""
    return {**ALL, "desk/main.ael": "".join(f"{line}\n" for line in lines) + "\nnode main() -> Int {\n  1\n}\n"}


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("use refunds.{hidden}", "AEL0206", "`hidden` is not `pub`, so only `refunds/main` sees it"),
        ("use refunds.{Inner}", "AEL0206", "`Inner` is not `pub`, so only `refunds/main` sees it"),
        ("use refunds/_rates.{RATE}", "AEL0823", "the module `refunds/_rates` is for the pack `refunds` alone"),
        ("use ledger.{post_entry}", "AEL0802", "there is no module `ledger`"),
        ("use refunds/nowhere", "AEL0802", "there is no module `refunds/nowhere`"),
        ("use desk.{other}", "AEL0802", "there is no module `desk`"),
        ("use ../refunds/money.{double}", "AEL0802", "there is no module `../refunds/money`"),
        ("use refunds.{hiddn}", "AEL0205", "the module `refunds` has no `hiddn`"),
        ("use refunds.{Refnd}", "AEL0205", "the module `refunds` has no `Refnd`; did you mean `Refund`?"),
    ],
)
def test_what_another_pack_does_not_show(tmp_path: Path, line: str, code: str, message: str) -> None:
    _, said = opened(tmp_path, used(line))
    (told,) = [one for one in said if "AEL1102" not in one]
    assert told.startswith(f"desk/main.ael {code} 1:")
    assert message in told
    assert "did you mean `hidden`" not in told, "what is not shown is not suggested"


def test_both_places_of_a_private_name_are_shown(tmp_path: Path) -> None:
    write(tmp_path, used("use refunds.{hidden}", "use refunds as r"))
    for text in ("hidden()", "r.hidden()"):
        main = f"use refunds.{{hidden}}\nuse refunds as r\n\nnode main() -> Int {{\n  {text}\n}}\n"
        (tmp_path / "desk" / "main.ael").write_text(main)
        bag = Bag()
        check_paths([tmp_path / "desk"], bag)
        found = [d for d in bag.sorted() if d.code == "AEL0206"]
        assert found
        for one in found:
            assert one.place.source.path == tmp_path / "desk" / "main.ael"
            assert [label.place.source.path for label in one.labels] == [tmp_path / "refunds" / "main.ael"]
            assert one.fix is None, "another pack is not edited"


def test_a_path_never_leads_into_another_pack(tmp_path: Path) -> None:
    inner = {name.replace("refunds/", "desk/packs/refunds/"): text for name, text in REFUNDS.items()}
    inner["desk/packs/refunds/pack.ael"] = pack("refunds", "1.2.3")
    inner["desk/packs/refunds/main.ael"] = "pub fn one() -> Int {\n  1\n}\n"
    main = "use ./packs/refunds/money.{double}\n\nnode main() -> Int {\n  double(1)\n}\n"
    _, said = opened(tmp_path, {"desk/pack.ael": pack("desk"), "desk/main.ael": main, **inner})
    assert codes(said) == ["AEL0823"]
    depends = pack("desk", "1.0.0", 'depends refunds "1" from "packs/refunds"')
    program, said = opened(tmp_path, {"desk/pack.ael": depends, "desk/main.ael": main.replace("./packs/refunds", "refunds")})
    assert said == []
    assert program is not None


def test_a_pack_in_a_folder_of_its_own_name_is_told_from_modules_of_the_program(tmp_path: Path) -> None:
    files = {**ALL, "desk/refunds/extra.ael": "pub fn one() -> Int {\n  1\n}\n"}
    files["desk/main.ael"] = "use ./refunds/extra.{one}\n\nnode main() -> Int {\n  one()\n}\n"
    _, said = opened(tmp_path, files)
    assert codes(said) == ["AEL0823"]
    bag = Bag()
    files["desk/main.ael"] = "node main() -> Int {\n  1\n}\n"
    write(tmp_path, files)
    check_paths([tmp_path / "desk"], bag)
    assert [d.code for d in bag.sorted()] == ["AEL0823"]


def test_a_missing_name_is_offered_from_a_pack(tmp_path: Path) -> None:
    main = "node main() -> Int {\n  double(1)\n}\n"
    write(tmp_path, {**ALL, "desk/main.ael": main})
    bag = Bag()
    check_paths([tmp_path / "desk"], bag)
    (found,) = bag.sorted()
    assert found.notes == ("`refunds/money` declares it: `use refunds/money.{double}`",)


# --- which pack is meant ---------------------------------------------------------------------------------------------------


def test_a_diamond_is_one_pack(tmp_path: Path) -> None:
    stock = {
        "stock/pack.ael": pack("stock", "1.0.0", 'depends ledger ">=2, <3" from "../ledger"'),
        "stock/main.ael": "use ledger.{post_entry}\n\npub fn same() -> Int {\n  1\n}\n",
    }
    depends = pack("desk", "1.0.0", 'depends stock "1" from "../stock"', 'depends refunds "1.2" from "../refunds"')
    program, said = opened(tmp_path, {**ALL, **stock, "desk/pack.ael": depends})
    assert said == []
    assert program is not None
    assert [asked.by for asked in program.project.packs["ledger"].resolved.asked] == ["stock", "refunds"]
    _, said = opened(tmp_path, {"stock/pack.ael": pack("stock", "1.0.0", 'depends ledger "3" from "../ledger"')})
    (told,) = said
    assert told == 'stock/pack.ael AEL0820 3:18 `ledger` is asked for as "3" (>=3.0.0, <4.0.0), and the one there is 2.1.0'


def test_two_packs_of_one_name_are_refused_and_the_program_decides(tmp_path: Path) -> None:
    other = {name.replace("ledger/", "other/"): text for name, text in LEDGER.items()}
    stock = {"stock/pack.ael": pack("stock", "1.0.0", 'depends ledger "2" from "../other"'), "stock/main.ael": ""}
    both = ('depends refunds "1.2" from "../refunds"', 'depends stock "1" from "../stock"')
    write(tmp_path, {**ALL, **other, **stock, "desk/pack.ael": pack("desk", "1.0.0", *both)})
    bag = Bag()
    check_paths([tmp_path / "desk"], bag)
    (found,) = bag.sorted()
    assert found.code == "AEL0806"
    assert found.place.source.path == tmp_path / "stock" / "pack.ael"
    assert [label.place.source.path for label in found.labels] == [tmp_path / "refunds" / "pack.ael"]
    # The program says which, and those that do not say where mean it.
    chosen = pack("desk", "1.0.0", 'depends ledger "2" from "../other"', *both)
    open_to_both = {
        "refunds/pack.ael": pack("refunds", "1.2.3", 'depends ledger "2"'),
        "stock/pack.ael": pack("stock", "1.0.0", 'depends ledger "2"'),
    }
    program, said = opened(tmp_path, {"desk/pack.ael": chosen, **open_to_both})
    assert said == []
    assert program is not None
    assert program.project.packs["ledger"].pack.root == tmp_path / "other"


def test_a_dependency_with_the_programs_name_is_refused(tmp_path: Path) -> None:
    twin = {"twin/pack.ael": pack("desk", "1.0.0"), "twin/main.ael": ""}
    _, said = opened(tmp_path, {**ALL, **twin, "desk/pack.ael": pack("desk", "1.0.0", 'depends desk "1" from "../twin"')})
    assert "AEL0806" in codes(said)
    assert "AEL0807" not in codes(said)


@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_circle_is_told_once_where_it_closes(tmp_path: Path, length: int) -> None:
    files = {"desk/main.ael": "node main() -> Int {\n  1\n}\n"}
    names = ["desk", *(f"p{n}" for n in range(1, length))]
    for at, name in enumerate(names):
        following = names[(at + 1) % length]
        files[f"{name}/pack.ael"] = pack(name, "1.0.0", f'depends {following} "1" from "../{following}"')
    _, said = opened(tmp_path, files)
    (told,) = said
    assert told.startswith(f"{names[-1]}/pack.ael AEL0807 3:11 ")
    assert told.endswith(" → ".join(f"`{name}`" for name in (*names, "desk")))


def test_what_is_not_there_is_told_once_and_nothing_that_follows(tmp_path: Path) -> None:
    files = {**DESK, "desk/pack.ael": pack("desk", "0.1.0", 'depends refunds "1.2" from "../nowhere"')}
    _, said = opened(tmp_path, files)
    assert codes(said) == ["AEL0809"]


def test_a_version_is_checked_wherever_it_stands(tmp_path: Path) -> None:
    _, said = opened(tmp_path, {**ALL, "ledger/pack.ael": pack("ledger", "two")})
    assert codes(said) == ["AEL0808"]
    assert said[0] == "ledger/pack.ael AEL0808 2:11 `two` is no version: it is written `1.2.3`, and before a release `1.2.3-rc.1`"
    _, said = opened(tmp_path, {**ALL, "desk/pack.ael": pack("desk", "1", 'depends refunds "newest" from "../refunds"')})
    assert codes(said) == ["AEL0808"]


def test_a_dependency_is_said_once(tmp_path: Path) -> None:
    line = 'depends refunds "1.2" from "../refunds"'
    _, said = opened(tmp_path, {**ALL, "desk/pack.ael": pack("desk", "1", line, line)})
    assert codes(said) == ["AEL0516"]


def test_the_ways_to_a_pack(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            **ALL,
            "desk/pack.ael": pack("desk", "1", 'depends refunds "1" from "../refunds"', 'depends ledger "2" from "../ledger"'),
        },
    )
    bag = Bag()
    desk = load_pack(tmp_path / "desk", "pack.ael", bag)
    assert desk is not None
    found = chains(desk, resolve_packs(desk, bag), "ledger")
    assert [[(step.by, step.line.name) for step in way] for way in found] == [
        [("", "ledger")],
        [("", "refunds"), ("refunds", "ledger")],
    ]


NAMES = ("a", "b", "c", "d")
GRAPHS = st.fixed_dictionaries(
    {
        name: st.fixed_dictionaries({}, optional={other: st.sampled_from(["1", "1.2", "2", ">=1, <3"]) for other in NAMES})
        for name in ("desk", *NAMES)
    }
)
VERSIONS = st.fixed_dictionaries({name: st.sampled_from(["1.0.0", "1.2.0", "2.0.0"]) for name in NAMES})


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(GRAPHS, VERSIONS)
def test_any_graph_of_packs_is_resolved_or_refused_for_its_reason(
    tmp_path_factory: pytest.TempPathFactory, graph: dict[str, dict[str, str]], versions: dict[str, str]
) -> None:
    """What can be reached is there once; a requirement that does not fit and a circle are errors, and nothing else is."""
    folder = tmp_path_factory.mktemp("graph")
    for name, asks in graph.items():
        lines = [f'depends {other} "{asked}" from "../{other}"' for other, asked in asks.items()]
        write(folder, {f"{name}/pack.ael": pack(name, versions.get(name, "0.1.0"), *lines)})
    bag = Bag()
    desk = load_pack(folder / "desk", "pack.ael", bag)
    assert desk is not None
    found = resolve_packs(desk, bag)
    reached, waiting = set[str](), ["desk"]
    unfit, edges = 0, dict[str, set[str]]()
    while waiting:
        name = waiting.pop()
        if name in edges:
            continue
        edges[name] = set(graph[name])
        reached |= edges[name]
        waiting += edges[name]
        unfit += sum(not parse_requirement(asked).allows(parse_version(versions[other])) for other, asked in graph[name].items())
    assert set(found) == reached
    told = [d.code for d in bag.sorted()]
    assert told.count("AEL0820") == unfit
    assert ("AEL0807" in told) == _has_circle(edges)
    assert set(told) <= {"AEL0820", "AEL0807"}


def _has_circle(edges: dict[str, set[str]]) -> bool:
    left = {name: set(others) for name, others in edges.items()}
    while ends := [name for name, others in left.items() if not others & left.keys()]:
        for name in ends:
            del left[name]
    return bool(left)
