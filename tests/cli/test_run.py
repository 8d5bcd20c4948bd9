"""`ael run`: the entry, its input, its result on standard output, its ending in the exit code."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Ael

GREET = """
/// Greet somebody.
node main(name: String(max: 80) = "world") -> String {
  "Hello, ${name}!"
}
"""

ENDINGS = """
permission bank.send

error NotFound { id: String(max: 40) }

node missing(id: String(max: 40)) -> String fails NotFound {
  fail NotFound(id: id)
}

node broken(at: Int) -> Int {
  let numbers = [1, 2, 3]
  numbers[at]
}

tool send(amount: Int) -> Unit
  needs bank.send
  repeat idempotent
  timeout 1s
{
  log("sent ${amount}")
}

node pays(amount: Int) -> String
  grants bank.send
{
  send(amount)
  "done"
}
"""

ASKS = """
model clerk {
  provider openai
  name "gpt-5-mini"
}

/// Answer in a word.
node main(question: String(max: 200)) -> String(max: 80)
  model clerk
  policy one_call
  budget tokens 2_000, time 5s
{
  instructions "Answer in a word."
}
"""


@pytest.mark.feature("A17.10")
def test_the_result_is_json_on_standard_output_and_nothing_else_is(ael: Ael) -> None:
    ael.write({"main.ael": GREET})
    ended = ael("run", "main.ael", "--name", "Ada")
    assert (ended.code, ended.out) == (0, '"Hello, Ada!"\n')
    assert "main" in ended.err
    quiet = ael("run", "main.ael", "-q")
    assert (quiet.code, quiet.out, quiet.err) == (0, '"Hello, world!"\n', "")


@pytest.mark.feature("A17.10", "C11")
def test_json_prints_the_whole_outcome(ael: Ael) -> None:
    ael.write({"main.ael": GREET})
    ended = ael("run", "main.ael", "--json")
    told = json.loads(ended.out)
    assert told["outcome"] == "value"
    assert told["value"] == "Hello, world!"
    assert told["spent"]["steps"] == 0


@pytest.mark.feature("A17.10")
def test_the_trace_goes_to_standard_error(ael: Ael) -> None:
    ael.write({"main.ael": ASKS, "deploy.ael": 'model clerk = scripted("s.json")\n', "s.json": '[{"final": "yes"}]'})
    ended = ael("run", ".", "--question", "Really?", "--trace", "-q")
    assert (ended.code, ended.out) == (0, '"yes"\n')
    assert [line.split(" · ")[0].strip("└─ ") for line in ended.err.splitlines()] == ["run main", "node main", "turn clerk"]
    lines = ael("run", ".", "--question", "Really?", "--trace", "--json", "-q")
    spans = [json.loads(line) for line in lines.err.splitlines()]
    assert [span["kind"] for span in spans] == ["run", "node", "turn"]
    assert all("content" not in span for span in spans)
    whole = ael("run", ".", "--question", "Really?", "--trace", "--json", "--content", "-q")
    assert any(span.get("content", {}).get("text") == "yes" for span in map(json.loads, whole.err.splitlines()))


@pytest.mark.feature("C11")
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("missing", "--id", "A"), 1, 'error[AEL0901]: the run failed with NotFound {"id": "A"}'),
        (("broken", "--at", "7"), 1, "error[AEL0902]: OutOfRange: "),
        (("pays", "--amount", "5"), 0, ""),
        (("broken", "--at", '"x"'), 1, "error[AEL0902]: BadArguments: the input does not fit: "),
        (("nowhere",), 2, "error[AEL0840]: there is no node or agent `nowhere`"),
        (("brokn", "--at", "1"), 2, "did you mean `broken`?"),
        ((), 2, "error[AEL0840]: say which to run: `missing`, `broken`, `pays`"),
    ],
)
def test_exit_codes(ael: Ael, words: tuple[str, ...], code: int, said: str) -> None:
    ael.write({"main.ael": ENDINGS})
    ended = ael("run", "main.ael", *words)
    assert ended.code == code
    assert said in ended.err
    assert (ended.out != "") == (code == 0)


def test_an_ending_that_is_no_value_is_json_too(ael: Ael) -> None:
    ael.write({"main.ael": ENDINGS})
    ended = ael("run", "main.ael", "missing", "--id", "A", "--json")
    assert ended.code == 1
    told = json.loads(ended.out)
    assert (told["outcome"], told["error"], told["value"]) == ("error", "main.NotFound", {"id": "A"})
    fault = json.loads(ael("run", "main.ael", "broken", "--at", "7", "--json").out)
    assert (fault["outcome"], fault["kind"]) == ("fault", "OutOfRange")


@pytest.mark.feature("C11")
def test_a_program_that_does_not_check_is_reported_and_not_run(ael: Ael) -> None:
    ael.write({"main.ael": 'node main() -> Int { "x" }\n'})
    ended = ael("run", "main.ael")
    assert (ended.code, ended.out) == (2, "")
    assert "main.ael:1:" in ended.err
    missing = ael("run", "nowhere.ael")
    assert missing.code == 2
    assert "error[AEL0801]: `nowhere.ael` cannot be read" in missing.err


def test_a_file_without_a_node_has_nothing_to_run(ael: Ael) -> None:
    ael.write({"main.ael": "fn f() -> Int { 1 }\n"})
    assert "there is nothing to run here" in ael("run", "main.ael").err


def test_a_deployment_by_name(ael: Ael) -> None:
    ael.write(
        {
            "main.ael": ASKS,
            "deploy.ael": 'model clerk = scripted("a.json")\n',
            "deploy.other.ael": 'model clerk = scripted("b.json")\n',
            "a.json": '[{"final": "a"}]',
            "b.json": '[{"final": "b"}]',
        }
    )
    assert ael("run", ".", "--question", "q").out == '"a"\n'
    assert ael("run", ".", "--question", "q", "--deploy", "other").out == '"b"\n'
    wrong = ael("run", ".", "--question", "q", "--deploy", "nowhere")
    assert wrong.code == 2
    assert "there is no deployment `nowhere`" in wrong.err


def test_progress_tells_turns_and_what_they_cost(ael: Ael) -> None:
    ael.write({"main.ael": ASKS, "deploy.ael": 'model clerk = scripted("s.json")\n', "s.json": '[{"final": "yes"}]'})
    ended = ael("run", ".", "--question", "q")
    lines = ended.err.splitlines()
    assert lines[0] == "main"
    assert lines[1].startswith("  clerk: ")
    assert "tokens (estimated), $0" in lines[1]


def test_a_run_budget_of_the_deployment_holds(ael: Ael) -> None:
    deploy = 'model clerk = scripted("s.json")\nbudget tokens 10\n'
    ael.write({"main.ael": ASKS, "deploy.ael": deploy, "s.json": '[{"final": "yes"}]'})
    ended = ael("run", ".", "--question", "q")
    assert ended.code == 1
    assert "error[AEL0902]: BudgetExhausted: the run has used 0 of 10 tokens" in ended.err


def test_what_a_deployment_denies_does_not_run(ael: Ael) -> None:
    ael.write({"main.ael": ENDINGS, "deploy.ael": "deny bank.send\n"})
    ended = ael("run", "main.ael", "pays", "--amount", "5")
    assert ended.code == 1
    assert "error[AEL0902]: Denied: " in ended.err
    assert "sent 5" not in ended.err
    ael.write({"deploy.ael": "deny send\n"})
    assert "error[AEL0902]: Denied: " in ael("run", "main.ael", "pays", "--amount", "5").err


PLACES = """
node pick(n: Int) -> Int {
  let xs = [1, 2]
  "é".length() + xs[n]
}

agent desk(n: Int) -> Int
{
  edge start -> pick
  edge pick -> finish(10 div (pick - 2)) when [true][pick - 2]
  edge pick -> finish(0) otherwise
}
"""


@pytest.mark.parametrize(
    ("entry", "n", "place"), [("pick", 2, "4:18"), ("desk", 0, "10:23"), ("desk", 1, "10:47"), ("desk", 7, "4:18")]
)
def test_a_fault_says_where_in_the_source_it_came_from(ael: Ael, entry: str, n: int, place: str) -> None:
    ael.write({"main.ael": PLACES})
    ended = ael("run", "main.ael", entry, "--n", str(n), "--quiet")
    assert ended.code == 1
    assert ended.err.splitlines()[-1] == f"  --> main.ael:{place}"
    assert "main.ael" not in ael("run", "main.ael", entry, "--n", str(n), "--quiet", "--json").out, "it is no part of the outcome"
