"""A real model on this machine: llama.cpp with a tiny model of random weights answers, and is graded."""

from __future__ import annotations

import json

from tests.cli.conftest import Ael
from tests.evals.desk import cases
from tests.models.tiny_gguf import write

MAIN = """
pub enum Topic { Billing, Other }

model sorter {
  provider local
  name "tiny"
}

/// Sort a message.
node main(text: String(max: 100)) -> Topic
  model sorter
  policy one_call
  budget tokens 3_000, time 90s
{
  instructions "Sort it."
}
"""


def test_a_real_model_is_evaluated_and_what_it_spent_is_told(ael: Ael) -> None:
    write(ael.folder / "tiny.gguf")
    lines = (
        'cases = jsonl("cases.jsonl")\nsamples = 2\njobs = 2\ngrader known = output == Topic.Billing or output == Topic.Other\n'
    )
    ael.write(
        {
            "main.ael": MAIN,
            "deploy.ael": 'model sorter = local("./tiny.gguf", window: 2048)\n',
            "eval.ael": lines,
            "cases.jsonl": cases({"input": {"text": "I was charged twice"}}, {"input": {"text": "hello"}}),
        }
    )
    ended = ael("eval", "--format", "json")
    assert ended.out, ended.err
    told = json.loads(ended.out)
    # Its grammar holds it to the type, so whatever its weights say is a topic.
    assert told["verdict"] == "passed", told
    assert told["tokens"] > 0
    assert told["cost"] == "0"
    assert [len(case["samples"]) for case in told["cases"]] == [2, 2]
