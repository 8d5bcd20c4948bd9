"""Where values came from, and what outside data may not do: provenance, trusted parameters, strict routing (`ael/run`, `ael/check`)."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

RUN = "tests/run::"
STRICT = "tests/check_facts/test_strict.py::"
CHOSEN = STRICT + "test_outside_data_does_not_decide_a_call_in_a_node_of_a_strict_agent"
TAINT = "tests/check_facts/test_taint.py::"

MUTATIONS = (
    # --- what a model may say where only trusted values go
    Mutation(
        "K44",
        "the question about a model's value for a trusted parameter of a tool",
        "ael/run/tool.py",
        "            doubt = doubted(scope.run, self.trusted, arguments)\n",
        "            doubt = None\n",
        RUN + "test_a_models_argument_for_a_trusted_parameter_equals_an_input_or_needs_an_approval",
    ),
    Mutation(
        "K44",
        "the question about a model's value for a trusted parameter of a node",
        "ael/run/delegate.py",
        "        if (doubt := doubted(scope.run, self._trusted, arguments)) is not None:",
        "        if (doubt := doubted(scope.run, (), arguments)) is not None:",
        RUN + "test_a_delegate_asks_for_its_trusted_parameters_too",
    ),
    Mutation(
        "K44",
        "the equality with an input: a part of one is none",
        "ael/run/taint.py",
        "    return _text(value) not in run.clean",
        "    return not any(_text(value).strip('\"') in known for known in run.clean)",
        RUN + "test_a_models_argument_for_a_trusted_parameter_equals_an_input_or_needs_an_approval",
    ),
    Mutation(
        "K44",
        "what a run that was called is told of its arguments",
        "ael/run/taint.py",
        "        if run.handed is not None:\n",
        "        if run.handed is None:\n",
        RUN + "test_a_run_that_was_called_trusts_what_it_was_told_to",
    ),
    Mutation(
        "K44",
        "the word about its arguments that goes with a call",
        "ael/run/placed.py",
        '        told = "" if said is None else said.text()\n',
        '        told = ""\n',
        RUN + "test_it_goes_with_every_call_elsewhere_in_which_outside_data_had_a_hand",
    ),
    Mutation(
        "K44",
        "what a kept run was told of its arguments",
        "ael/durable/execute.py",
        '        kept["given"] = options.handed.text()\n',
        "        pass\n",
        RUN + "test_a_run_keeps_it_for_whoever_goes_on",
    ),
    # --- provenance
    Mutation(
        "K44",
        "the sources with which a run that was called begins",
        "ael/run/engine.py",
        "run.deadline, None, span, seen=given)",
        "run.deadline, None, span)",
        RUN + "test_a_run_that_was_called_trusts_what_it_was_told_to",
    ),
    Mutation(
        "K44",
        "what had a hand in the error of a node",
        "ael/run/node.py",
        "            scope.took(inner)\n",
        "            scope.touched = scope.touched or inner.touched\n",
        RUN + "test_an_error_carries_what_had_a_hand_in_it",
    ),
    Mutation(
        "K44",
        "what had a hand in the error of a call",
        "ael/run/call.py",
        "                scope.seen |= inner.seen\n",
        "                pass\n",
        RUN + "test_an_error_carries_what_had_a_hand_in_it",
    ),
    Mutation(
        "K44",
        "a scope of its own for each branch of a `parallel`",
        "ael/run/frame.py",
        "        scopes = [self.scope.beside() for _ in items]\n",
        "        scopes = [self.scope for _ in items]\n",
        RUN + "test_branches_beside_each_other_keep_theirs_apart",
    ),
    Mutation(
        "K44",
        "a scope of its own for each call of a turn that runs beside others",
        "ael/run/calls.py",
        "Calls(self._scope.beside(), self._depth, self._offered) for _ in group",
        "self for _ in group",
        RUN + "test_tools_that_run_beside_each_other_keep_theirs_apart",
    ),
    Mutation(
        "K44",
        "the origin that is written beside a value",
        "ael/run/service.py",
        'origin = Origin(ordered(scope.seen), f"{run.id}/{step.path}")\n                await port.put',
        'origin = Origin((), f"{run.id}/{step.path}")\n                await port.put',
        RUN + "test_what_a_run_writes_says_in_another_run_where_it_came_from",
    ),
    Mutation(
        "K44",
        "what a value of which nobody knows the origin counts as",
        "ael/run/service.py",
        "((unknown,) if kept.origin is None else kept.origin.sources)",
        "(() if kept.origin is None else kept.origin.sources)",
        RUN + "test_a_file_of_a_version_without_origins_is_read_and_counts_as_outside_data",
    ),
    # --- the check
    Mutation(
        "K44",
        "the refusal of outside data in a trusted parameter",
        "ael/check/flow.py",
        "            if trusted and at < len(masks) and masks[at]:\n",
        "            if trusted and at < 0:\n",
        TAINT + "test_outside_data_does_not_reach_a_trusted_parameter",
    ),
    Mutation(
        "K44",
        "the calls that a condition decides, in a strict agent",
        "ael/check/flow.py",
        "        self.chosen_call(info.name, node)\n",
        "        pass\n",
        CHOSEN,
    ),
    Mutation(
        "K44",
        "what an early return decides",
        "ael/check/flow.py",
        "            self.returned |= self.eval(node.value) | self.decided\n        self.gone |= self.chosen\n",
        "            self.returned |= self.eval(node.value) | self.decided\n",
        CHOSEN,
    ),
    Mutation(
        "K44",
        "what decides whether a function value is called",
        "ael/check/choosing.py",
        "            self.summary.chosen_values |= mask\n",
        "            pass\n",
        CHOSEN,
    ),
    Mutation(
        "K44",
        "the declared errors that decide an edge",
        "ael/check/agent.py",
        '        if any("." in error for error in scope.tables.edges[edge].spec.errors):\n',
        "        if False:\n",
        STRICT + "test_a_declared_error_that_outside_data_had_a_hand_in_does_not_decide_an_edge",
    ),
    Mutation(
        "K44",
        "the edges of an agent inside of a strict one",
        "ael/check/agent.py",
        "                elif shared.acts is not None and mask:\n",
        "                elif False:\n",
        STRICT + "test_the_edges_of_an_agent_inside_decide_too",
    ),
    Mutation(
        "K44",
        "the helpers among which a model chooses",
        "ael/check/taint.py",
        "        _delegates(program, analysis)\n",
        "        pass\n",
        STRICT + "test_a_model_does_not_choose_which_node_is_visited",
    ),
)
