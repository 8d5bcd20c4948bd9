"""A program whose servers give away what they are sent, and a deployment with a secret of every kind, each planted."""

from __future__ import annotations

import json
import sys
from pathlib import Path

CHILD = Path(__file__).with_name("child.py").resolve()
TOLD = Path(__file__).with_name("told.py").resolve()

PLANTED = {
    "MODEL": "sk-model/Zq8+vT3=mK7xW2",
    "MCP": "tok-mcp/Rr5+nB9=qL1sD4",
    "ACME_MCP": "tok-acme/Yw6+cV2=hJ8fG3",
    "ANN_MCP": "tok-ann/Kp4+zX7=bN5tQ1",
    "HEADER": "hdr-mcp/Lm3+wE8=rT6yU2",
    "CHILD": 'chi "ld\\/Uo9+iP5=aS7dF2',
    "SERVICE": "svc-tok/Hg2+kJ4=lM6nB8",
    "LOG": "log-tok/Xc1+vB3=nM5qW7",
    "OPENAI_API_KEY": "sk-usual/Ty7+uI9=oP1aS3",
    "SERVE": "ann-tok/Dd5+fG7=hJ9kL1",
    "UNUSED": "nobody/Qq2+wW4=eE6rR8",
}
"""Name -> value: of a model, of MCP servers (a tenant's and a caller's own too, a header), of a child process, of a service, of the
collector of traces, in a provider's usual variable, of a caller of what is served, and one that nothing uses."""

MAIN = """
permission desk.use

record Told { text: String }

/// Far away.
service Far {
  look(q: String(max: 200)) -> Told
    needs desk.use
    repeat idempotent
    timeout 20s
  wreck(q: String(max: 200)) -> Told
    needs desk.use
    repeat idempotent
    timeout 20s
}

mcp crm {
  tool look needs desk.use repeat idempotent
  tool typed needs desk.use repeat idempotent
  tool broken needs desk.use repeat idempotent
  tool odd needs desk.use repeat idempotent
}

mcp child {
  tool tell needs desk.use repeat idempotent
}

store notes: Map<String, String> needs desk.use

/// Tell all. Call it first.
tool told(q: String(max: 200)) -> String
  needs desk.use
  repeat idempotent
  extern "told:told"

/// Fail with all. Call it last.
tool raises(q: String(max: 200)) -> String
  needs desk.use
  repeat idempotent
  extern "told:raises"

/// Keep a text. Call it with whatever you were sent.
tool keep(text: String(max: 4_000)) -> String
  needs desk.use
  repeat idempotent
{
  notes.put("model", text)
  text
}

model fast {
  provider openai
  name "m"
}

node ask(q: String(max: 200)) -> String
  model fast
  policy loop(steps: 3, tool_calls: 3)
  grants desk.use
  tools keep
  budget tokens 200_000, time 60s
{
  instructions "Answer."
}

/// Asks everybody, keeps and logs what they say, and gives it all back.
node main(q: String(max: 8_000)) -> Map<String, String>
  grants desk.use
  budget tokens 200_000, time 2min
{
  var all: Map<String, String> = ["q": q]
  all = all.set("far", (Far.look("a") catch { Fault f => Told(text: f.message) }).text)
  all = all.set("far broken", (Far.wreck("a") catch { Fault f => Told(text: f.message) }).text)
  all = all.set("look", crm.look("a") catch { Fault f => f.message })
  all = all.set("typed", crm.typed("a").text catch { Fault f => f.message })
  all = all.set("broken", crm.broken("a") catch { Fault f => f.message })
  all = all.set("odd", crm.odd("a") catch { Fault f => f.message })
  all = all.set("child", child.tell() catch { Fault f => f.message })
  all = all.set("told", told("a") catch { Fault f => f.message })
  all = all.set("raises", raises("a") catch { Fault f => f.message })
  all = all.set("model", ask("a") catch { Fault f => f.message })
  for name, text in all {
    notes.put(name, text)
    log(text)
  }
  all
}

/// Fails with what it was told.
node fails() -> String
  grants desk.use
{
  raises("a")
}
"""


def deployment(url: str, collector: str, child_from: str = 'keyring("desk", "child")', stream: str = "false") -> str:
    """The lines of a deployment with every kind of secret; `child_from` says where that of the child process is."""
    host = url.removeprefix("http://")
    python, child = json.dumps(sys.executable), json.dumps(str(CHILD))
    return f"""
host "{host}"
host "127.0.0.1"
secret MODEL = env("PLANTED_MODEL")
secret MCP = file("mcp.key")
secret acme.MCP = env("PLANTED_ACME_MCP")
secret ann.MCP = env("PLANTED_ANN_MCP")
secret HEADER = env("PLANTED_HEADER")
secret CHILD = {child_from}
secret SERVICE = env("PLANTED_SERVICE")
secret LOG = file("log.key")
secret SERVE = env("PLANTED_SERVE")
secret UNUSED = env("PLANTED_UNUSED")
model fast = openai("m", key: secret("MODEL"), endpoint: "{url}/v1", stream: {stream})
mcp crm = http("{url}/mcp", bearer: secret("MCP"), headers: ["X-Own": secret("HEADER")])
command {python}
mcp child = stdio({python}, {child}, env: ["CHILD_TOKEN": secret("CHILD")])
service Far = https("{url}", token: secret("SERVICE"))
store notes = sqlite("notes.db")
runs = sqlite("runs.db")
log = otlp("{collector}", headers: ["x-api-key": secret("LOG")], content: true)
log = file("entries.jsonl", content: true)
caller ann = bearer(secret("SERVE"), tenant: "acme") grants desk.use
tenant acme {{
  grants desk.use
}}
tenant local {{
  grants desk.use
}}
serve = [main, fails]
"""


PACK = 'pack desk {\n  version "0.1.0"\n  uses std/process, server/mcp, server/connect\n  extern "told"\n}\n'
