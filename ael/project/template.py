"""What `ael new` writes: a pack with a tool, a model-driven node, a scripted model and a test."""

from __future__ import annotations

_PACK = """\
//! NAME: what it is for.

pack NAME {
  version "0.1.0"
}
"""

_MAIN = """\
//! Answer questions about the weather, within a budget.

/// Read the weather.
permission weather.read

error NoSuchCity { city: String(max: 80) }

/// The weather of a city today. Call it when the question names a city.
tool weather(city: String(max: 80)) -> String(max: 200) fails NoSuchCity
  needs weather.read
  repeat idempotent
  timeout 5s
{
  match city {
    "Berlin" => "rain, 12 degrees"
    "Lisbon" => "sun, 24 degrees"
    _ => { fail NoSuchCity(city: city) }
  }
}

model assistant {
  provider anthropic
  name "claude-haiku-4-5"
}

/// Answer one question.
node main(question: String(max: 500) = "Do I need an umbrella in Berlin?") -> String(max: 1_000)
  model assistant
  policy loop(steps: 4, tool_calls: 4)
  grants weather.read
  tools weather
  budget tokens 10_000, time 30s
{
  instructions "Answer the question in one sentence. Look the weather up first."
}

test "the weather is looked up once" {
  script assistant [
    call("weather", ["city": "Berlin"]),
    final("Yes, it rains in Berlin."),
  ]
  assert main("Do I need an umbrella in Berlin?") == "Yes, it rains in Berlin."
  assert calls(weather) == 1
}
"""

_DEPLOY = """\
//! The default deployment: the model's answers come from a script, so nothing needs a key.
//!
//! For a real model write, and set ANTHROPIC_API_KEY:
//!   model assistant = anthropic("claude-haiku-4-5")

model assistant = scripted("script.json")
"""

_SCRIPT = """\
[
  {"call": "weather", "with": {"city": "Berlin"}},
  {"final": "Yes, take one: it rains in Berlin today, at 12 degrees."}
]
"""

_README = """\
# NAME

    ael check     reports every problem
    ael test      runs the tests, with a scripted model
    ael run .     answers the default question; `--question "…"` asks another one
"""

_IGNORE = ".ael/\n*.db\n*.db-wal\n*.db-shm\n"


def files(name: str) -> dict[str, str]:
    """Path below the new folder -> text."""
    parts = {
        "pack.ael": _PACK,
        "main.ael": _MAIN,
        "deploy.ael": _DEPLOY,
        "script.json": _SCRIPT,
        "README.md": _README,
        ".gitignore": _IGNORE,
    }
    return {path: text.replace("NAME", name) for path, text in parts.items()}
