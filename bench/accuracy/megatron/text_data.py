#!/usr/bin/env python3
"""Makes, in the current folder, what BERT and T5 cases read and NVIDIA does not publish: a vocabulary of the size of BERT's, beside it the
files by which Transformers finds it under BERT's name, and an index of random sentences of Megatron-LM's own form.

    text_data.py MEGATRON_CHECKOUT cased|uncased

Sizes of the vocabularies: bert-large-cased 28996, bert-large-uncased 30522 (their published vocab.txt). Tokens differ from NVIDIA's; shapes of
batches do not depend on them.
"""
import json
import os
import sys

SIZES = {"cased": 28996, "uncased": 30522}
SPECIAL = ["[PAD]"] + [f"[unused{i}]" for i in range(1, 100)] + ["[UNK]", "[CLS]", "[SEP]", "[MASK]"]
DOCUMENTS, SENTENCES, LONGEST = 24000, 8, 40  # of the split 99982,9,9 every part has documents


def main():
    megatron, kind = sys.argv[1:]
    sys.path.insert(0, megatron)
    import numpy
    from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder, get_bin_path, get_idx_path

    size = SIZES[kind]
    words = [f"w{i}" if i % 5 else f"##p{i}" for i in range(size - len(SPECIAL))]
    folder = f"bert-large-{kind}"
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "vocab.txt"), "w") as file:
        file.write("\n".join(SPECIAL + words) + "\n")
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump({"model_type": "bert", "vocab_size": size}, file)
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as file:
        json.dump({"tokenizer_class": "BertTokenizer", "do_lower_case": kind == "uncased"}, file)

    numbers = numpy.random.RandomState(1)
    builder = IndexedDatasetBuilder(get_bin_path("text_sentence"))
    for _ in range(DOCUMENTS):
        lengths = numbers.randint(5, LONGEST, SENTENCES).tolist()
        builder.add_document(numbers.randint(len(SPECIAL), size, sum(lengths)), lengths)
    builder.finalize(get_idx_path("text_sentence"))


if __name__ == "__main__":
    main()
