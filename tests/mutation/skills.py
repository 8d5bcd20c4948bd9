"""Skills: what they bring needs the grants of whoever uses it, and their instructions come from the pack alone (`ael/check/skill*.py`)."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

CHECK = "tests/check_facts::"
TEXTS = "tests/project::"

MUTATIONS = (
    Mutation(
        "K44",
        "the grants that a skill's tool needs",
        "ael/check/skill_use.py",
        "        missing = needed.get(one.symbol.name, frozenset()) - allowed\n",
        "        missing: frozenset[str] = frozenset()\n",
        CHECK + "test_a_skill_adds_no_permission",
    ),
    Mutation(
        "K26",
        "the Uncertain that a skill's tool may end with",
        "ael/check/failure.py",
        "                elif isinstance(symbol.node, n.SkillDecl) and symbol.name not in seen:\n",
        "                elif False:\n",
        CHECK + "test_what_a_skills_tool_may_end_with_is_faced",
    ),
    Mutation(
        "K44",
        "the pack around a file of instructions",
        "ael/project/texts.py",
        "    if not file.is_relative_to(home):\n",
        "    if False:\n",
        TEXTS + "test_no_way_leads_out_of_the_pack",
    ),
    Mutation(
        "K28",
        "the text of a file in the digest of a program",
        "ael/check/check.py",
        "    parts += [part for at in sorted(collected.texts) for part in (*at, collected.texts[at].text)]\n",
        "",
        TEXTS + "test_another_text_is_another_program",
    ),
    Mutation(
        "K44",
        "the route that outside data decides in a strict agent",
        "ael/check/agent.py",
        "                mask = flow.eval(edge.condition)\n",
        "                mask = 0\n",
        CHECK + "test_no_outside_data_decides_an_edge_of_a_strict_agent",
    ),
)
