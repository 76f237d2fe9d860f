"""torchtitan's trainer. Its attention is compiled and tuned by every rank for a minute, so all cases are nightly."""
from frameworks import Case, main

# What the compiler makes of FlexAttention has its sizes in its code, so that a trace does not show them.
FLEX = "triton_tem_fused_flex_attention"
COMMON = ("--config", "llama3_debugmodel", "--training.steps", "3", "--training.seq-len", "256")
CASES = [
    Case("fsdp_graph", "torchtitan_llama3.py", "torchtitan ok, 2 ranks", arguments=COMMON, packages=("torchtitan",), nightly=True,
         timeout=900, no_model=FLEX),
    Case("fsdp_eager", "torchtitan_llama3.py", "torchtitan ok, 2 ranks", arguments=(*COMMON, "--training.disable-cuda-graphs"), packages=("torchtitan",),
         nightly=True, timeout=900, no_model=FLEX),
]

if __name__ == "__main__":
    main(CASES)
