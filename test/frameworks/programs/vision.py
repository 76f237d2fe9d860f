"""Trains a model for a few steps on one GPU: vision.py MODEL [--batch N] [--image N] [--steps N] [--dtype bf16|fp16|fp32] [--channels-last] [--benchmark].

resnet50, vgg16, vit_b_16 are torchvision's; sd_unet is diffusers' UNet2DConditionModel with the configuration of Stable Diffusion 1.5; mixtral is transformers' with
eight small experts; unet, cnn, lstm, gru, ctc and dlrm are written here from torch modules alone. Ends with "MODEL ok" and its parameters, in millions.
"""
import argparse

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Sequential):
    """Two convolutions with batch norms, as a U-Net stacks them."""

    def __init__(self, inputs, outputs):
        super().__init__(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
                         nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, width=64, depth=4, classes=2):
        super().__init__()
        sizes = [width * 2**i for i in range(depth + 1)]
        self.down = nn.ModuleList(Block(i, o) for i, o in zip([3] + sizes, sizes))
        self.up = nn.ModuleList(nn.ConvTranspose2d(i, o, 2, stride=2) for i, o in zip(sizes[:0:-1], sizes[-2::-1]))
        self.merge = nn.ModuleList(Block(i, o) for i, o in zip(sizes[:0:-1], sizes[-2::-1]))
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        kept = []
        for level, block in enumerate(self.down):
            x = block(x if level == 0 else functional.max_pool2d(x, 2))
            kept.append(x)
        for up, merge, skip in zip(self.up, self.merge, kept[-2::-1]):
            x = merge(torch.cat([skip, up(x)], dim=1))
        return self.head(x)


class Cnn(nn.Module):
    """Convolutions of every kind: strided, grouped, depthwise, dilated, transposed, one- and three-dimensional."""

    def __init__(self, width=64):
        super().__init__()
        self.two = nn.Sequential(nn.Conv2d(3, width, 7, stride=2, padding=3), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                                 nn.Conv2d(width, width, 3, padding=1, groups=8), nn.GroupNorm(8, width), nn.SiLU(),
                                 nn.Conv2d(width, width, 3, padding=1, groups=width), nn.Conv2d(width, width, 3, padding=2, dilation=2),
                                 nn.ConvTranspose2d(width, width, 4, stride=2, padding=1), nn.LocalResponseNorm(5), nn.AvgPool2d(2))
        self.one = nn.Conv1d(width, width, 5, padding=2)
        self.three = nn.Conv3d(1, 8, 3, padding=1)
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        x = self.one(self.two(x).flatten(2))
        return self.head(self.three(x.unflatten(2, (8, -1)).unsqueeze(1)).mean((2, 3, 4)))


class Recurrent(nn.Module):
    def __init__(self, kind, vocabulary=10000, width=512, layers=2, ctc=False):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.cell = kind(width, width, layers, batch_first=True, dropout=0.1, bidirectional=ctc)
        self.head = nn.Linear(width * (2 if ctc else 1), 64 if ctc else vocabulary)

    def forward(self, tokens):
        return self.head(self.cell(self.embed(tokens))[0])


class Dlrm(nn.Module):
    """Dense features through a multi-layer perceptron, categorical ones through embedding bags, then all pairs of products."""

    def __init__(self, tables=26, rows=100000, width=64):
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, width), nn.ReLU())
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.top = nn.Sequential(nn.Linear(width + tables * (tables + 1) // 2, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1))
        self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, -1), persistent=False)

    def forward(self, dense, indices, offsets):
        dense = self.bottom(dense)
        features = torch.stack([dense] + [bag(i, offsets) for bag, i in zip(self.bags, indices)], dim=1)
        products = torch.bmm(features, features.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([dense, products], dim=1)).squeeze(1)


def classify(model):
    def step(o):
        loss = functional.cross_entropy(model(o.images()), torch.randint(0, 10, (o.batch,), device="cuda"))
        return loss
    return step


def torchvision_model(name):
    import torchvision
    return getattr(torchvision.models, name)()


def make(name, loop_over_experts=False):
    """The model and a function that computes one step's loss."""
    if name in ("resnet50", "vgg16", "vit_b_16"):
        model = torchvision_model(name)
        return model, classify(model)
    if name == "cnn":
        model = Cnn()
        return model, classify(model)
    if name == "unet":
        model = UNet()
        return model, lambda o: functional.cross_entropy(model(o.images()), torch.randint(0, 2, (o.batch, o.image, o.image), device="cuda"))
    if name in ("lstm", "gru"):
        model = Recurrent(nn.LSTM if name == "lstm" else nn.GRU)

        def step(o):
            tokens = torch.randint(0, 10000, (o.batch, 129), device="cuda")
            return functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        return model, step
    if name == "ctc":
        model = Recurrent(nn.LSTM, ctc=True)

        def step(o):
            # Concatenated labels of 32 bits in host memory, lengths as numbers: the form that PyTorch gives to cuDNN.
            scores = model(torch.randint(0, 10000, (o.batch, 200), device="cuda")).float().log_softmax(2).transpose(0, 1)
            labels = torch.randint(1, 64, (o.batch * 30,), dtype=torch.int32)
            return functional.ctc_loss(scores, labels, (200,) * o.batch, (30,) * o.batch)
        return model, step
    if name == "dlrm":
        model = Dlrm()

        def step(o):
            dense = torch.rand(o.batch, 13, device="cuda")
            indices = [torch.randint(0, 100000, (o.batch * 4,), device="cuda") for _ in model.bags]
            offsets = torch.arange(0, o.batch * 4, 4, device="cuda")
            return functional.binary_cross_entropy_with_logits(model(dense, indices, offsets).float(), torch.rand(o.batch, device="cuda"))
        return model, step
    if name == "sd_unet":
        from diffusers import UNet2DConditionModel
        # Everything else of Stable Diffusion 1.5's unet/config.json is the class's default.
        model = UNet2DConditionModel(sample_size=64, cross_attention_dim=768)

        def step(o):
            latents = torch.randn(o.batch, 4, 64, 64, device="cuda")
            noise = model(latents, torch.randint(0, 1000, (o.batch,), device="cuda"), torch.randn(o.batch, 77, 768, device="cuda")).sample
            return functional.mse_loss(noise.float(), torch.randn_like(latents))
        return model, step
    if name == "mixtral":
        from transformers import MixtralConfig, MixtralForCausalLM
        config = MixtralConfig(vocab_size=32000, hidden_size=1024, intermediate_size=3584, num_hidden_layers=4, num_attention_heads=16,
                               num_key_value_heads=4, num_local_experts=8, num_experts_per_tok=2)
        model = MixtralForCausalLM(config)
        if loop_over_experts:  # one product an expert instead of a grouped one, so that each has the size of its tokens
            config._experts_implementation = "eager"

        def step(o):
            tokens = torch.randint(0, 32000, (o.batch, 512), device="cuda")
            return model(input_ids=tokens, labels=tokens).loss
        return model, step
    raise SystemExit(f"vision.py: no such model: {name}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--image", type=int, default=224)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--dtype", default="bf16", choices=["bf16", "fp16", "fp32"])
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--benchmark", action="store_true")
    parser.add_argument("--no-tf32", action="store_true")
    parser.add_argument("--loop-over-experts", action="store_true")
    o = parser.parse_args()
    torch.backends.cudnn.benchmark = o.benchmark
    torch.backends.cudnn.allow_tf32 = not o.no_tf32
    layout = torch.channels_last if o.channels_last else torch.contiguous_format
    o.images = lambda: torch.randn(o.batch, 3, o.image, o.image, device="cuda").to(memory_format=layout)
    with torch.device("cuda"):
        model, step = make(o.model, o.loop_over_experts)
    model = model.to(memory_format=layout) if o.channels_last else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    kind = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[o.dtype]
    for _ in range(o.steps):
        with torch.autocast("cuda", dtype=kind, enabled=kind != torch.float32):
            loss = step(o)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    print(f"{o.model} ok, {sum(p.numel() for p in model.parameters()) / 1e6:.1f} million parameters", flush=True)


if __name__ == "__main__":
    main()
