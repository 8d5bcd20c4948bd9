"""Models and transports that are code of the program: what their answers may mean, whose budget they spend, what is not done twice."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

MODEL = "tests/connectors/test_model.py::"
FAULTS = "tests/connectors/test_model_faults.py::"
ROUTER = "tests/connectors/test_model_router.py::"
RESUMED = "tests/connectors/test_model_resumed.py::"
TRANSPORT = "tests/connectors/test_transport.py::"
DEPLOYED = "tests/connectors/test_deployed.py::"

MUTATIONS = (
    Mutation(
        "K06",
        "an id of a connector's call that was there before",
        "ael/run/asked.py",
        "        if given and given not in self._known and len(given) <= 256:",
        "        if given and len(given) <= 256:",
        MODEL + "test_a_loop_with_calls_of_any_ids",
    ),
    Mutation(
        "K33",
        "a connector's turn that ends with calls and has none",
        "ael/run/asked.py",
        "    if stop is Stop.CALLS and not calls:",
        "    if stop is Stop.CALLS and not calls and not spec.model:",
        MODEL + "test_each_stop_has_one_meaning",
    ),
    Mutation(
        "K04",
        "tokens that nobody can have used",
        "ael/run/asked.py",
        "if not 0 <= told[name] <= MOST)",
        "if not -10 <= told[name])",
        MODEL + "test_what_is_no_answer_is_malformed",
    ),
    Mutation(
        "K36",
        "the end of a turn in parts",
        "ael/run/connector.py",
        "            if told > LONGEST:",
        "            if told < 0:",
        MODEL + "test_a_turn_that_never_ends_is_ended",
    ),
    Mutation(
        "K34",
        "that bad answers of a connector lead to no other model",
        "ael/run/connector.py",
        '        return ModelError(ModelErrorKind.MALFORMED, f"{fault.kind.value}: {fault.message}")',
        '        return ModelError(ModelErrorKind.UNAVAILABLE, f"{fault.kind.value}: {fault.message}")',
        FAULTS + "test_nothing_else_leads_to_another_attempt",
    ),
    Mutation(
        "K26",
        "that what a connector left open is a matter of its caller",
        "ael/run/connector.py",
        "    lost[:] = [one for one in lost if not one.step.startswith(inside)]\n",
        "",
        FAULTS + "test_the_nodes_time_reaches_it",
    ),
    Mutation(
        "K28",
        "what was left of a budget when a connector was asked first",
        "ael/run/connector.py",
        "        if kept is not None:\n            max_tokens,",
        "        if kept is not None and not kept:\n            max_tokens,",
        RESUMED + "test_a_run_goes_on_behind_what_is_recorded",
    ),
    Mutation(
        "K02",
        "the tokens of the models that a connector asks",
        "ael/run/budget.py",
        "        made = Account(self.name, BudgetSpec(), self, self.path)\n",
        "        made = Account(self.name, BudgetSpec(), None, self.path)\n",
        ROUTER + "test_the_tokens_of_both_are_the_nodes",
    ),
    Mutation(
        "K26",
        "a mistake of a transport after it sent a call",
        "ael/run/carrier.py",
        '    return Fault(FaultKind.DISCONNECTED, f"{fault.kind.value}: {fault.message}", sent=True)',
        "    return fault",
        TRANSPORT + "test_a_mistake_after_it_was_sent_leaves_it_open",
    ),
    Mutation(
        "K26",
        "a fault that a transport makes up",
        "ael/run/carrier.py",
        'case "Faulted" if outcome["fault"] in FAULT_NAMES and outcome["fault"] != FaultKind.CANCELLED.value:',
        'case "Faulted" if outcome["fault"] in FAULT_NAMES:',
        TRANSPORT + "test_each_ending",
    ),
    Mutation(
        "K41",
        "a secret on the line of a connector",
        "ael/project/bind_model.py",
        '            if word == "key" or holds_construct(given):',
        '            if word == "key" and not holds_construct(given):',
        DEPLOYED + "test_lines_of_models",
    ),
)
