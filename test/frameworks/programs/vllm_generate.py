"""vLLM offline generation with dummy weights: a Llama of a few layers, its configuration made here, prompts as tokens.

    vllm_generate.py [--tokens 16] [--prompts 5 40 130] [--layers 4] [--tensor 1] [--compiled]

Without --compiled the model runs eagerly (no torch.compile, no CUDA graphs). Every prompt must get exactly the asked number of tokens; how long it takes says nothing about
which tokens they are: weights are dummies, and nothing computes. Ends with "ok".
"""

import argparse
import json
import pathlib
import tempfile


def configuration(layers):
    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 32000, "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": layers,
        "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 64, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu",
        "tie_word_embeddings": False, "torch_dtype": "bfloat16", "bos_token_id": 1, "eos_token_id": 2,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--prompts", type=int, nargs="+", default=[5, 40, 130], help="lengths")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--tensor", type=int, default=1, help="devices that share each layer")
    parser.add_argument("--compiled", action="store_true")
    arguments = parser.parse_args()

    from vllm import LLM, SamplingParams
    from vllm.inputs import TokensPrompt
    with tempfile.TemporaryDirectory(prefix="vllm-model-") as folder:
        pathlib.Path(folder, "config.json").write_text(json.dumps(configuration(arguments.layers)))
        engine = LLM(model=folder, load_format="dummy", skip_tokenizer_init=True, enforce_eager=not arguments.compiled, max_model_len=512, max_num_seqs=16, seed=0,
                     tensor_parallel_size=arguments.tensor)
        prompts = [TokensPrompt(prompt_token_ids=[3 + (i * 7 + j) % 30000 for j in range(length)]) for i, length in enumerate(arguments.prompts)]
        outputs = engine.generate(prompts, SamplingParams(max_tokens=arguments.tokens, temperature=0.8, ignore_eos=True, detokenize=False), use_tqdm=False)
    counts = [(len(one.prompt_token_ids), len(one.outputs[0].token_ids), one.outputs[0].finish_reason) for one in outputs]
    print("generated", counts)
    # Its own process, which vLLM gives 5 seconds to end otherwise: on a slow machine its trace would have no end.
    engine.llm_engine.engine_core.shutdown(timeout=120)
    assert counts == [(length, arguments.tokens, "length") for length in arguments.prompts], counts
    print("ok", flush=True)


if __name__ == "__main__":
    main()
