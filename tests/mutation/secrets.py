"""Secrets: what they are, and everything in which they could be seen (`ael/types/value.py`, `ael/run/trace.py`, `ael/net`)."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

RUN = "tests/run::"

MUTATIONS = (
    Mutation(
        "K41",
        "the mask in what a model reads of a result",
        "ael/run/calls.py",
        "        return ToolAnswer(call, run.world.masker.text(content(done, offered.max_output)), False)",
        "        return ToolAnswer(call, content(done, offered.max_output), False)",
        RUN + "test_a_secret_in_a_result_does_not_reach_the_model",
    ),
    Mutation(
        "K41",
        "the mask in the content of a span",
        "ael/run/trace.py",
        "            kept = {key: self._mask.value(value) for key, value in content.items()}",
        "            kept = dict(content)",
        RUN + "test_a_secret_in_any_form_is_in_no_trace_answer_or_outcome",
    ),
    Mutation(
        "K41",
        "the mask in the text of an exception",
        "ael/run/call.py",
        "    shown = mask(str(error))\n",
        "    shown = str(error)\n",
        RUN + "test_a_secret_in_the_text_of_an_exception_is_masked_where_it_comes_in",
    ),
    Mutation(
        "K41",
        "the mask in the error of a model",
        "ael/run/conversation.py",
        "        message = self._scope.run.world.masker.text(error.message)[:500]\n",
        "        message = error.message[:500]\n",
        RUN + "test_a_secret_in_the_error_of_a_model_is_masked_where_it_comes_in",
    ),
    Mutation(
        "K41",
        "the mask in the value of an outcome",
        "ael/run/cancel.py",
        "            return Value(value, masker.value(plain), run.spent)",
        "            return Value(value, plain, run.spent)",
        RUN + "test_a_secret_in_any_form_is_in_no_trace_answer_or_outcome",
    ),
    Mutation(
        "K41",
        "the forms of a secret other than the plain one",
        "ael/run/masker.py",
        "    return tuple(sorted({form for value in values for form in forms(value)}, key=len, reverse=True))",
        "    return tuple(sorted(set(values), key=len, reverse=True))",
        RUN + "test_a_secret_in_any_form_is_in_no_trace_answer_or_outcome",
    ),
    Mutation(
        "K41",
        "the base64 of a secret inside of other text",
        "ael/net/redact.py",
        "    for offset in range(3):\n",
        "    for offset in range(0):\n",
        "tests/net::test_every_usual_form_of_a_value_is_masked",
    ),
    Mutation(
        "K41",
        "the mask in the errors of the HTTP client",
        "ael/net/client.py",
        "            problem.message = self.redact(problem.message)\n",
        "            pass\n",
        "tests/net::test_secrets_are_masked_in_errors",
    ),
    Mutation(
        "K41",
        "the refusal of a user part in an endpoint",
        "ael/net/address.py",
        '    if "@" in parts.netloc:\n',
        '    if "@" in parts.scheme:\n',
        "tests/net::test_user_and_password_in_a_url_are_refused_and_not_shown",
    ),
    Mutation(
        "K41",
        "the origin that alone is shown of an endpoint",
        "ael/net/address.py",
        '        return f"{self.scheme}://{self.authority}"',
        '        return f"{self.scheme}://{self.authority}{self.path}?{self.query}"',
        "tests/net::test_an_endpoint_shows_neither_path_nor_query",
    ),
    Mutation(
        "K41",
        "the text form that a Secret does not have",
        "ael/types/value.py",
        '        return f"Secret({self.name})"',
        '        return f"Secret({self.name}, {self._value})"',
        RUN + "test_a_secret_has_no_text_form",
    ),
    Mutation(
        "K41",
        "the mask in a recording",
        "ael/models/replay.py",
        "            file.write(self._redact(data.decode()).encode())",
        "            file.write(data)",
        "tests/models::test_a_recording_holds_no_key",
    ),
    Mutation(
        "K41",
        "the mask in the details of a fault",
        "ael/run/cancel.py",
        '    ending.details = cast("dict[str, object]", masker.value(ending.details))\n',
        "",
        RUN + "test_a_secret_in_the_details_of_a_fault_is_masked",
    ),
    Mutation(
        "K41",
        "the choice of what a child process gets of the environment",
        "ael/models/weights.py",
        "for name, value in own.items() if _FOR_PIP.fullmatch(name.upper())}",
        "for name, value in own.items()}",
        "tests/models::test_a_child_process_gets_no_key",
    ),
)
