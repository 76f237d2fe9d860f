"""torchtitan's own trainer on its own Llama 3 debug configuration; the tokenizer and the text it needs are made here.

Its arguments go to torchtitan: torchtitan_llama3.py --config llama3_debugmodel --training.steps 3
"""
import json
import os
import pathlib
import sys

from tokenizers import Tokenizer, models, pre_tokenizers

HERE = pathlib.Path(f"titan-{os.environ['RANK']}")
HERE.mkdir(exist_ok=True)
words = [f"w{i}" for i in range(2000)]
vocabulary = {w: i for i, w in enumerate(["<s>", "</s>", "[UNK]", *words])}
tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer.save(str(HERE / "tokenizer.json"))
(HERE / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<s>", "eos_token": "</s>"}))
text = HERE / "text"
text.mkdir(exist_ok=True)
with open(text / "data.json", "w") as file:
    for row in range(200):
        file.write(json.dumps({"text": " ".join(words[(row * 7 + i) % 2000] for i in range(300))}) + "\n")

os.environ["HF_HOME"] = str(HERE / "hub")
sys.argv = ["train", "--module", "llama3", "--hf-assets-path", str(HERE), "--dataloader.dataset-path", str(text), *sys.argv[1:]]

from torchtitan.train import main  # noqa: E402

main()
if os.environ["RANK"] == "0":
    print(f"torchtitan ok, {os.environ['WORLD_SIZE']} ranks", flush=True)
