"""Model configurations by short name, as plain dictionaries: what the published runs trained, without any download.

Figures are those of the models' public configuration files. `family` is the model type of transformers.
"""

_GPT2 = dict(family="gpt2", vocab_size=50257)
_LLAMA = dict(family="llama", rms_norm_eps=1e-5, tie_word_embeddings=False)

MODELS = {
    "gpt2_large": _GPT2 | dict(n_embd=1280, n_layer=36, n_head=20, n_positions=1024),
    "gpt3_xl": _GPT2 | dict(n_embd=3072, n_layer=24, n_head=24, n_positions=2048),
    "gpt3_27": _GPT2 | dict(n_embd=2560, n_layer=32, n_head=32, n_positions=2048),
    "opt_13": dict(family="opt", vocab_size=50272, hidden_size=2048, word_embed_proj_dim=2048, ffn_dim=8192,
                   num_hidden_layers=24, num_attention_heads=32, max_position_embeddings=2048, dropout=0.1),
    "bert_base": dict(family="bert", vocab_size=30522, hidden_size=768, intermediate_size=3072, num_hidden_layers=12,
                      num_attention_heads=12),
    "bert_large": dict(family="bert", vocab_size=30522, hidden_size=1024, intermediate_size=4096, num_hidden_layers=24,
                       num_attention_heads=16),
    "santacoder": dict(family="gpt_bigcode", vocab_size=49280, n_embd=2048, n_inner=8192, n_layer=24, n_head=16,
                       n_positions=2048, multi_query=True),
    "mistral_7b": dict(family="mistral", vocab_size=32000, hidden_size=4096, intermediate_size=14336,
                       num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8, sliding_window=None,
                       max_position_embeddings=32768, tie_word_embeddings=False),
    "mixtral_8x7b": dict(family="mixtral", vocab_size=32000, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32,
                         num_attention_heads=32, num_key_value_heads=8, num_local_experts=8, num_experts_per_tok=2,
                         sliding_window=None, max_position_embeddings=32768, tie_word_embeddings=False),
    "llama2_7b": _LLAMA | dict(vocab_size=32000, hidden_size=4096, intermediate_size=11008, num_hidden_layers=32,
                               num_attention_heads=32, num_key_value_heads=32, max_position_embeddings=4096),
    "llama2_13b": _LLAMA | dict(vocab_size=32000, hidden_size=5120, intermediate_size=13824, num_hidden_layers=40,
                                num_attention_heads=40, num_key_value_heads=40, max_position_embeddings=4096),
    "llama2_70b": _LLAMA | dict(vocab_size=32000, hidden_size=8192, intermediate_size=28672, num_hidden_layers=80,
                                num_attention_heads=64, num_key_value_heads=8, max_position_embeddings=4096),
    "llama3_8b": _LLAMA | dict(vocab_size=128256, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32,
                               num_attention_heads=32, num_key_value_heads=8, max_position_embeddings=8192),
    "llama3_70b": _LLAMA | dict(vocab_size=128256, hidden_size=8192, intermediate_size=28672, num_hidden_layers=80,
                                num_attention_heads=64, num_key_value_heads=8, max_position_embeddings=4096),
    "llama3.2_3b": _LLAMA | dict(vocab_size=128256, hidden_size=3072, intermediate_size=8192, num_hidden_layers=28,
                                 num_attention_heads=24, num_key_value_heads=8, head_dim=128,
                                 max_position_embeddings=131072, tie_word_embeddings=True),
    "powerlm_3b": dict(family="granite", vocab_size=49152, hidden_size=2304, intermediate_size=9216,
                       num_hidden_layers=40, num_attention_heads=36, num_key_value_heads=36,
                       max_position_embeddings=4096, tie_word_embeddings=True),
    "qwen3_8b": dict(family="qwen3", vocab_size=151936, hidden_size=4096, intermediate_size=12288, num_hidden_layers=36,
                     num_attention_heads=32, num_key_value_heads=8, head_dim=128, max_position_embeddings=40960,
                     tie_word_embeddings=False),
    "phi_1.5": dict(family="phi", vocab_size=51200, hidden_size=2048, intermediate_size=8192, num_hidden_layers=24,
                    num_attention_heads=32, partial_rotary_factor=0.5, max_position_embeddings=2048),
    "stablelm_3b": dict(family="gpt_neox", vocab_size=50688, hidden_size=4096, intermediate_size=16384,
                        num_hidden_layers=16, num_attention_heads=32, max_position_embeddings=4096, rotary_pct=0.25,
                        use_parallel_residual=True),
}


def heads_and_layers(name):
    """(layers, width of all query heads) of a model: what its attention costs."""
    c = MODELS[name]
    layers = c.get("num_hidden_layers") or c["n_layer"]
    hidden = c.get("hidden_size") or c["n_embd"]
    heads = c.get("num_attention_heads") or c["n_head"]
    return layers, heads * c.get("head_dim", hidden // heads)


def matrix_parameters(name):
    """Weights of all matrix products of one token's forward pass: blocks and the output layer, without embeddings."""
    c = MODELS[name]
    layers, width = heads_and_layers(name)
    hidden = c.get("hidden_size") or c["n_embd"]
    heads = c.get("num_attention_heads") or c["n_head"]
    head = width // heads
    kv = 1 if c.get("multi_query") else c.get("num_key_value_heads", heads)
    attention = hidden * (width + 2 * kv * head) + width * hidden
    inner = c.get("intermediate_size") or c.get("ffn_dim") or c.get("n_inner") or 4 * hidden
    gated = c["family"] in ("llama", "mistral", "mixtral", "granite", "qwen3")
    experts = c.get("num_experts_per_tok", 1)
    return layers * (attention + experts * (3 if gated else 2) * hidden * inner) + hidden * c["vocab_size"]


def config(name, **overrides):
    from transformers import AutoConfig

    figures = {k: v for k, v in (MODELS[name] | overrides).items() if k != "family"}
    return AutoConfig.for_model(MODELS[name]["family"], **figures)
