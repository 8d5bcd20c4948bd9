"""gRPC and its messages: who is let in, what is unpacked, what a broken connection leaves open (`ael/server/rpc.py`, `ael/services`)."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

SERVER = "tests/transports/test_grpc.py::"
LOST = "tests/transports/test_grpc_lost.py::"
COMMAND = "tests/transports/test_grpc_command.py::"
TEXT = "tests/types/test_proto_text.py::"

MUTATIONS = (
    Mutation(
        "K43",
        "the callers of gRPC",
        "ael/server/rpc.py",
        "            self._guard.who(headers)\n            one(",
        "            one(",
        SERVER + "test_reflection_and_health",
    ),
    Mutation(
        "K42",
        "requests that are compressed",
        "ael/server/rpc.py",
        '            ("grpc.compression_enabled_algorithms_bitset", 1),\n',
        "",
        SERVER + "test_what_is_not_let_in",
    ),
    Mutation(
        "K45",
        "the end that health tells",
        "ael/server/rpc.py",
        "    await alive.enter_graceful_shutdown()\n",
        "",
        SERVER + "test_reflection_and_health",
    ),
    Mutation(
        "K40",
        "what a defect of the server says",
        "ael/server/rpc.py",
        '            await context.abort(grpc.StatusCode.INTERNAL, "Internal error")\n',
        "            await context.abort(grpc.StatusCode.INTERNAL, str(error))\n",
        COMMAND + "test_a_defect_of_the_server_tells_nothing_of_itself",
    ),
    Mutation(
        "K26",
        "the doubt about a connection of gRPC that broke",
        "ael/services/status.py",
        '"message": message, "details": {"code": word}}, False',
        '"message": message, "details": {"code": word}}, True',
        LOST + "test_a_lost_answer",
    ),
    Mutation(
        "K26",
        "that nothing was sent where no connection stands",
        "ael/services/rpc.py",
        '{message}", sent=False)',
        '{message}", sent=True)',
        LOST + "test_what_is_no_grpc_at_all",
    ),
    Mutation(
        "K42",
        "what the host of a service over gRPC stands for",
        "ael/services/rpc.py",
        '                check_address(ip_address(str(peer[0]).partition("%")[0]), host, port, self._allowed)\n',
        "                pass\n",
        LOST + "test_a_name_that_stands_for_this_machine_is_not_connected_to",
    ),
    Mutation(
        "K36",
        "the size of an answer over gRPC",
        "ael/services/rpc.py",
        "        if len(body) > max(call.most + _ROOM, MAX_ERROR):",
        "        if len(body) > 100_000_000:",
        LOST + "test_answers_of_others",
    ),
    Mutation(
        "K21",
        "the fields of a message",
        "ael/types/proto_decode.py",
        "        if unknown:\n",
        "        if False:\n",
        TEXT + "test_bytes_that_are_no_message",
    ),
    Mutation(
        "K47",
        "the nesting of messages",
        "ael/types/proto_decode.py",
        "        if left <= 0:\n",
        "        if False:\n",
        TEXT + "test_nesting_has_an_end",
    ),
)
