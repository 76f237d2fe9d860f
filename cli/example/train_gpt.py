"""A small GPT trained with plain PyTorch. Nothing in it knows of Maya: it is what would run on a GPU.

python train_gpt.py [--layers 12 --hidden 768 --heads 12 --sequence 1024 --batch 8 --steps 4]
"""
import argparse

import torch
from torch import nn
from torch.nn import functional as F


class Layer(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.attention_norm, self.mlp_norm = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.query_key_value, self.projection = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.mlp = nn.Sequential(nn.Linear(hidden, 4 * hidden), nn.GELU(), nn.Linear(4 * hidden, hidden))

    def forward(self, x):
        batch, length, hidden = x.shape
        heads = (batch, length, self.heads, hidden // self.heads)
        q, k, v = (t.view(heads).transpose(1, 2) for t in self.query_key_value(self.attention_norm(x)).split(hidden, dim=2))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(attended.transpose(1, 2).reshape(batch, length, hidden))
        return x + self.mlp(self.mlp_norm(x))


class Model(nn.Module):
    def __init__(self, vocabulary, hidden, heads, layers, length):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, hidden), nn.Embedding(length, hidden)
        self.layers = nn.Sequential(*(Layer(hidden, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(hidden), nn.Linear(hidden, vocabulary, bias=False)

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.layers(self.tokens(tokens) + self.positions(positions))))


def main():
    parser = argparse.ArgumentParser()
    for name, value in dict(layers=12, hidden=768, heads=12, vocabulary=50304, sequence=1024, batch=8, steps=4).items():
        parser.add_argument("--" + name, type=int, default=value)
    options = parser.parse_args()
    model = Model(options.vocabulary, options.hidden, options.heads, options.layers, options.sequence).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    for step in range(options.steps):
        batch = torch.randint(options.vocabulary, (options.batch, options.sequence + 1)).cuda()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step}: loss {loss.item():.3f}")
    print(f"{torch.cuda.get_device_name()}: {torch.cuda.max_memory_reserved() / 2**30:.2f} GiB reserved at the peak")


if __name__ == "__main__":
    main()
