"""Writes a llama model with random weights and a tiny vocabulary: a real server can load it in a moment, and what it says does
not matter.

The vocabulary is one token for each byte and a handful of control tokens, so that any text can be said and any grammar followed.
"""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy

CONTEXT = 8_192
WIDTH = 64
HEADS = 4
LAYERS = 1
FORWARD = 96

CONTROL = ("<unk>", "<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|end|>")
TEMPLATE = """\
{%- if tools %}<|system|>Tools: {{ tools | tojson }} Answer with {"name": "...", "arguments": {...}} to call one.<|end|>{% endif
-%}
{%- for message in messages -%}
<|{{ message.role }}|>
{%- if message.tool_calls is defined and message.tool_calls -%}
{%- for call in message.tool_calls -%}
{"name": {{ call.function.name | tojson }}, "arguments": {{ call.function.arguments | tojson }}}
{%- endfor -%}
{%- else -%}
{{ message.content }}
{%- endif -%}
<|end|>
{%- endfor -%}
{%- if add_generation_prompt %}<|assistant|>{% endif -%}
"""


def vocabulary() -> tuple[list[bytes], list[float], list[int]]:
    """Tokens, scores and kinds."""
    control = [word.encode() for word in CONTROL]
    tokens = control + [f"<0x{byte:02X}>".encode() for byte in range(256)]
    # A sentencepiece model falls back to bytes for all that has no piece of its own; the printable ones are pieces too.
    pieces = [chr(code).encode() for code in range(33, 127)] + ["\u2581".encode()]
    kinds = [gguf.TokenType.UNKNOWN, *[gguf.TokenType.CONTROL] * (len(control) - 1)]
    kinds += [gguf.TokenType.BYTE] * 256 + [gguf.TokenType.NORMAL] * len(pieces)
    return tokens + pieces, [0.0] * (len(tokens) + len(pieces)), [int(kind) for kind in kinds]


def write(path: Path, *, prefer: str = "", seed: int = 7, template: str = TEMPLATE) -> Path:
    """Write the model. It never ends by itself, and says the token `prefer` wherever it may (a grammar decides where it may
    not).
    """
    tokens, scores, kinds = vocabulary()
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_eot_token_id(CONTROL.index("<|end|>"))
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(template)
    random = numpy.random.default_rng(seed)

    def tensor(name: str, *shape: int) -> None:
        writer.add_tensor(name, (random.standard_normal(shape) * 0.05).astype(numpy.float32))

    # The first of each token's numbers is large and stays so through the small layers: what an output row has there it always
    # gets.
    embeddings = random.standard_normal((len(tokens), WIDTH)) * 0.05
    embeddings[:, 0] = 1.0
    rows = random.standard_normal((len(tokens), WIDTH)) * 0.05
    for control in range(len(CONTROL)):
        rows[control, 0] = -5.0
    if prefer:
        # Once nothing more has to be said, it ends.
        rows[CONTROL.index("<|end|>"), 0] = 3.0
        rows[tokens.index(prefer.encode(), len(CONTROL) + 256), 0] = 5.0
    writer.add_tensor("token_embd.weight", embeddings.astype(numpy.float32))
    writer.add_tensor("output_norm.weight", numpy.ones(WIDTH, dtype=numpy.float32))
    writer.add_tensor("output.weight", rows.astype(numpy.float32))
    for layer in range(LAYERS):
        for norm in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{norm}.weight", numpy.ones(WIDTH, dtype=numpy.float32))
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensor(f"blk.{layer}.{name}.weight", WIDTH, WIDTH)
        tensor(f"blk.{layer}.ffn_gate.weight", FORWARD, WIDTH)
        tensor(f"blk.{layer}.ffn_up.weight", FORWARD, WIDTH)
        tensor(f"blk.{layer}.ffn_down.weight", WIDTH, FORWARD)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
