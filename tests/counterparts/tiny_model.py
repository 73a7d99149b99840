"""Writes a language model of a few hundred kilobytes for llama.cpp: random weights, and a token for
each byte, so that a text has as many tokens as bytes. What it says means nothing.
"""

import sys

import gguf
import numpy

WIDTH, INNER, HEADS, LONGEST = 64, 128, 4, 131072
# One message behind the other; a tool is not told of.
TEMPLATE = "{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}<assistant>"


def write(path):
    """Writes the model to a file."""
    special = [b"<unk>", b"<s>", b"</s>"]
    tokens = special + [f"<0x{byte:02X}>".encode() for byte in range(256)]
    unknown, control, of_a_byte = 2, 3, 6
    kinds = [unknown, control, control] + [of_a_byte] * 256
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(LONGEST)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(kinds)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)

    chance = numpy.random.default_rng(1)

    def weights(name, *shape):
        values = chance.standard_normal(shape, dtype=numpy.float32) * 0.05
        writer.add_tensor(f"{name}.weight", values)

    weights("token_embd", len(tokens), WIDTH)
    weights("output", len(tokens), WIDTH)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", numpy.ones(WIDTH, numpy.float32))
    for part in ("q", "k", "v", "output"):
        weights(f"blk.0.attn_{part}", WIDTH, WIDTH)
    weights("blk.0.ffn_gate", INNER, WIDTH)
    weights("blk.0.ffn_up", INNER, WIDTH)
    weights("blk.0.ffn_down", WIDTH, INNER)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write(sys.argv[1])
