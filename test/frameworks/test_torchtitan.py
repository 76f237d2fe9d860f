"""torchtitan's trainer. Its attention is compiled and tuned by every rank for a minute, so all cases are nightly."""
from frameworks import Case, main

COMMON = ("--training.steps", "3", "--training.seq-len", "256")
CASES = [
    Case("fsdp_graph", "torchtitan_llama3.py", "torchtitan ok, 2 ranks", arguments=("--config", "llama3_debugmodel", *COMMON), packages=("torchtitan",),
         nightly=True, timeout=900),
    Case("fsdp_eager", "torchtitan_llama3.py", "torchtitan ok, 2 ranks", arguments=("--config", "llama3_debugmodel", *COMMON, "--training.disable-cuda-graphs"),
         packages=("torchtitan",), nightly=True, timeout=900),
]

if __name__ == "__main__":
    main(CASES)
