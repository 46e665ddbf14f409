"""Tiny models of several architectures that llama.cpp loads: the widths are small, the shapes of attention real."""

from __future__ import annotations

from tests.selftest.gguf.build import F32, Tensor, build

EMBEDDING, VOCABULARY, FEED = 64, 320, 96
HEADS, GROUPS, HEAD = 4, 2, 64


def _tensor(name, *dims):
    size = 4
    for dim in dims:
        size *= dim
    return Tensor(name, dims, F32, bytes(size))


def _keys(architecture, layers, extra):
    own = {
        "context_length": 8192,
        "embedding_length": EMBEDDING,
        "block_count": layers,
        "feed_forward_length": FEED,
        "attention.head_count": HEADS,
        "attention.head_count_kv": GROUPS,
        "attention.key_length": HEAD,
        "attention.value_length": HEAD,
        "vocab_size": VOCABULARY,
        "rope.dimension_count": HEAD,
    } | extra
    keys = [("general.architecture", "str", architecture), ("tokenizer.ggml.model", "str", "no_vocab")]
    for name, value in own.items():
        kind = "arr[bool]" if isinstance(value, list) else "u32"
        keys.append((f"{architecture}.{name}", kind, value))
    keys.append((f"{architecture}.attention.layer_norm_rms_epsilon", "f32", 1e-5))
    return tuple(keys)


def _frame():
    return [
        _tensor("token_embd.weight", EMBEDDING, VOCABULARY),
        _tensor("output_norm.weight", EMBEDDING),
        _tensor("output.weight", EMBEDDING, VOCABULARY),
    ]


def _attention(layer, *, query=HEADS * HEAD, head=HEAD, groups=GROUPS, out=HEADS * HEAD):
    blk = f"blk.{layer}"
    return [
        _tensor(f"{blk}.attn_norm.weight", EMBEDDING),
        _tensor(f"{blk}.attn_q.weight", EMBEDDING, query),
        _tensor(f"{blk}.attn_k.weight", EMBEDDING, groups * head),
        _tensor(f"{blk}.attn_v.weight", EMBEDDING, groups * head),
        _tensor(f"{blk}.attn_output.weight", out, EMBEDDING),
    ]


def _norms(layer, *names, width=EMBEDDING):
    return [_tensor(f"blk.{layer}.{name}.weight", width) for name in names]


def _feed(layer, *, suffix="", width=FEED, experts=()):
    blk = f"blk.{layer}.ffn_"
    return [
        _tensor(f"{blk}gate{suffix}.weight", EMBEDDING, width, *experts),
        _tensor(f"{blk}up{suffix}.weight", EMBEDDING, width, *experts),
        _tensor(f"{blk}down{suffix}.weight", width, EMBEDDING, *experts),
    ]


def gemma3(layers=7, window=512):
    """Five sliding-window layers, then a full one."""
    tensors = _frame()
    for layer in range(layers):
        tensors += _attention(layer) + _feed(layer)
        tensors += _norms(layer, "post_attention_norm", "ffn_norm", "post_ffw_norm")
        tensors += _norms(layer, "attn_q_norm", "attn_k_norm", width=HEAD)
    return build(_keys("gemma3", layers, {"attention.sliding_window": window}), tensors)


def gemma4(shared=2):
    """Windows by a pattern, with other widths, and last layers that read the cache of earlier ones."""
    pattern = [True, True, True, False, True, False]
    extra = {
        "attention.sliding_window": 512,
        "attention.sliding_window_pattern": pattern,
        "attention.key_length_swa": 32,
        "attention.value_length_swa": 32,
        "attention.shared_kv_layers": shared,
        "embedding_length_per_layer_input": 0,
        "rope.dimension_count_swa": 32,
    }
    tensors = _frame()
    for layer, sliding in enumerate(pattern):
        head = 32 if sliding else HEAD
        tensors += _attention(layer, query=HEADS * head, head=head, out=HEADS * head) + _feed(layer)
        tensors += _norms(layer, "post_attention_norm", "ffn_norm", "post_ffw_norm")
        tensors += _norms(layer, "attn_q_norm", "attn_k_norm", width=head)
    tensors.append(_tensor("rope_freqs.weight", HEAD // 2))
    return build(_keys("gemma4", len(pattern), extra), tensors)


def gpt_oss(layers=4):
    """Every second layer slides; experts with biases."""
    experts = 4
    extra = {
        "attention.sliding_window": 128,
        "expert_count": experts,
        "expert_used_count": 2,
        "expert_feed_forward_length": FEED,
    }
    tensors = _frame()
    for layer in range(layers):
        blk = f"blk.{layer}"
        tensors += _attention(layer) + _norms(layer, "post_attention_norm")
        tensors += _feed(layer, suffix="_exps", experts=(experts,))
        tensors += [
            _tensor(f"{blk}.attn_sinks.weight", HEADS),
            _tensor(f"{blk}.ffn_gate_inp.weight", EMBEDDING, experts),
            _tensor(f"{blk}.attn_output.bias", EMBEDDING),
            _tensor(f"{blk}.ffn_gate_inp.bias", experts),
            _tensor(f"{blk}.ffn_gate_exps.bias", FEED, experts),
            _tensor(f"{blk}.ffn_down_exps.bias", EMBEDDING, experts),
            _tensor(f"{blk}.ffn_up_exps.bias", FEED, experts),
        ]
    return build(_keys("gpt-oss", layers, extra), tensors)


LATENT, ROPE, KEY_MLA, VALUE_MLA, INDEXER = 128, 64, 96, 64, 128


def _latent_keys(architecture, layers, extra):
    return _keys(
        architecture,
        layers,
        {
            "attention.head_count_kv": 1,
            "attention.key_length": LATENT + ROPE,
            "attention.value_length": LATENT,
            "attention.key_length_mla": KEY_MLA,
            "attention.value_length_mla": VALUE_MLA,
            "attention.kv_lora_rank": LATENT,
            "attention.q_lora_rank": 48,
            "rope.dimension_count": ROPE,
            "expert_count": 4,
            "expert_used_count": 2,
            "expert_shared_count": 1,
            "expert_feed_forward_length": FEED,
            "leading_dense_block_count": 1,
        }
        | extra,
    )


def _latent_layer(layer):
    blk = f"blk.{layer}"
    tensors = [
        *_norms(layer, "attn_norm", "ffn_norm"),
        *_norms(layer, "attn_q_a_norm", width=48),
        *_norms(layer, "attn_kv_a_norm", width=LATENT),
        _tensor(f"{blk}.attn_q_a.weight", EMBEDDING, 48),
        _tensor(f"{blk}.attn_q_b.weight", 48, HEADS * KEY_MLA),
        _tensor(f"{blk}.attn_kv_a_mqa.weight", EMBEDDING, LATENT + ROPE),
        _tensor(f"{blk}.attn_k_b.weight", KEY_MLA - ROPE, LATENT, HEADS),
        _tensor(f"{blk}.attn_v_b.weight", LATENT, VALUE_MLA, HEADS),
        _tensor(f"{blk}.attn_output.weight", HEADS * VALUE_MLA, EMBEDDING),
    ]
    if layer == 0:
        return tensors + _feed(layer)
    tensors.append(_tensor(f"{blk}.ffn_gate_inp.weight", EMBEDDING, 4))
    return tensors + _feed(layer, suffix="_exps", experts=(4,)) + _feed(layer, suffix="_shexp")


def deepseek2(layers=3):
    """Latent attention: one row of keys for all heads, no values."""
    tensors = _frame()
    for layer in range(layers):
        tensors += _latent_layer(layer)
    return build(_latent_keys("deepseek2", layers, {}), tensors)


def glm_dsa(layers=7, context=2**20):
    """Latent attention with an indexer; in models trained on 2^20 tokens, two layers and every fourth have one."""
    extra = {
        "context_length": context,
        "attention.indexer.head_count": 2,
        "attention.indexer.key_length": INDEXER,
        "attention.indexer.top_k": 64,
    }
    tensors = _frame()
    for layer in range(layers):
        blk = f"blk.{layer}.indexer"
        tensors += _latent_layer(layer)
        tensors += [
            _tensor(f"{blk}.k_norm.weight", INDEXER),
            _tensor(f"{blk}.k_norm.bias", INDEXER),
            _tensor(f"{blk}.proj.weight", EMBEDDING, 2),
            _tensor(f"{blk}.attn_k.weight", EMBEDDING, INDEXER),
            _tensor(f"{blk}.attn_q_b.weight", 48, 2 * INDEXER),
        ]
    return build(_latent_keys("glm-dsa", layers, extra), tensors)


def qwen3next(layers=5):
    """Three recurrent layers, then one that keeps all tokens."""
    groups, states, rank, inner = 2, 32, 4, 128
    extra = {
        "ssm.conv_kernel": 4,
        "ssm.inner_size": inner,
        "ssm.state_size": states,
        "ssm.time_step_rank": rank,
        "ssm.group_count": groups,
        "expert_count": 4,
        "expert_used_count": 2,
        "expert_feed_forward_length": FEED,
        "expert_shared_feed_forward_length": FEED,
    }
    convolved = 2 * groups * states + inner
    tensors = _frame()
    for layer in range(layers):
        blk = f"blk.{layer}"
        if (layer + 1) % 4 == 0:
            tensors += _attention(layer, query=2 * HEADS * HEAD) + _norms(
                layer, "attn_q_norm", "attn_k_norm", width=HEAD
            )
        else:
            tensors += [
                *_norms(layer, "attn_norm"),
                _tensor(f"{blk}.attn_qkv.weight", EMBEDDING, convolved),
                _tensor(f"{blk}.attn_gate.weight", EMBEDDING, inner),
                _tensor(f"{blk}.ssm_conv1d.weight", 4, convolved),
                _tensor(f"{blk}.ssm_dt.bias", rank),
                _tensor(f"{blk}.ssm_a", rank),
                _tensor(f"{blk}.ssm_ba.weight", EMBEDDING, 2 * rank),
                _tensor(f"{blk}.ssm_norm.weight", states),
                _tensor(f"{blk}.ssm_out.weight", inner, EMBEDDING),
            ]
        tensors += _norms(layer, "post_attention_norm", "ffn_gate_inp_shexp")
        tensors.append(_tensor(f"{blk}.ffn_gate_inp.weight", EMBEDDING, 4))
        tensors += _feed(layer, suffix="_exps", experts=(4,)) + _feed(layer, suffix="_shexp")
    return build(_keys("qwen3next", layers, extra), tensors)


MODELS = {
    "gemma3": gemma3,
    "gemma4": gemma4,
    "gpt-oss": gpt_oss,
    "deepseek2": deepseek2,
    "glm-dsa": glm_dsa,
    "qwen3next": qwen3next,
}
