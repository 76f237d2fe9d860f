"""Trains three steps with libraries and language features that bring kernels of their own: extensions.py CASE.

bitsandbytes: a 4-bit and an 8-bit linear layer, and AdamW with 8-bit states. liger: a small Llama of transformers with Liger's Triton kernels. gcn, neighbours: graph convolution
and attention of torch_geometric on a whole graph, and on sampled neighbourhoods. flex: FlexAttention compiled, forward and backward. fp8: torchao's float8 training of linear
layers. dynamic: torch.compile(dynamic=True) over sequences of different lengths. tma: a Triton kernel with tensor descriptors. dit: a diffusion transformer of diffusers,
training and sampling. vit: timm's ViT with GradScaler. sft: TRL's SFTTrainer, whose loss selects tokens by a mask and scores them with Triton kernels. llava: pictures and
text, put together by a masked scatter. Ends with "CASE ok".
"""
import sys

import torch
from torch import nn
from torch.nn import functional

STEPS = 3
DEVICE = "cuda"


def train(model, loss_of, optimizer=None, dtype=torch.bfloat16, scaler=None):
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(STEPS):
        with torch.autocast(DEVICE, dtype=dtype):
            loss = loss_of(step)
        (scaler.scale(loss) if scaler else loss).backward()
        if scaler:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
        optimizer.zero_grad()


def bitsandbytes():
    import bitsandbytes as bnb
    model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), bnb.nn.Linear4bit(4096, 4096, compute_dtype=torch.bfloat16, quant_type="nf4"), nn.GELU(),
                          bnb.nn.Linear8bitLt(4096, 1024, has_fp16_weights=False), nn.Linear(1024, 1024)).to(DEVICE)
    for layer in (model[2], model[4]):
        layer.requires_grad_(False)
    optimizer = bnb.optim.AdamW8bit([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    train(model, lambda _: model(torch.randn(256, 1024, device=DEVICE)).float().square().mean(), optimizer, torch.float16)


def liger():
    from liger_kernel.transformers import apply_liger_kernel_to_llama
    from transformers import LlamaConfig, LlamaForCausalLM
    apply_liger_kernel_to_llama()
    with torch.device(DEVICE):
        model = LlamaForCausalLM(LlamaConfig(vocab_size=32000, hidden_size=512, intermediate_size=1376, num_hidden_layers=2, num_attention_heads=8))
    model.train()
    tokens = torch.randint(0, 32000, (4, 512), device=DEVICE)
    train(model, lambda _: model(input_ids=tokens, labels=tokens).loss)


def sft():
    import tempfile

    from datasets import Dataset
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    from trl import SFTConfig, SFTTrainer
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(["<unk>", "a", "b", "c", "</s>", "<pad>"])}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>", eos_token="</s>", pad_token="<pad>")
    model = LlamaForCausalLM(LlamaConfig(vocab_size=32000, hidden_size=512, intermediate_size=1376, num_hidden_layers=2, num_attention_heads=8))
    with tempfile.TemporaryDirectory() as folder:
        arguments = SFTConfig(output_dir=folder, per_device_train_batch_size=4, max_steps=STEPS, bf16=True, report_to=[], max_length=512,
                              save_strategy="no", logging_steps=1)
        SFTTrainer(model=model, args=arguments, train_dataset=Dataset.from_dict({"text": ["a b c " * 100] * 64}), processing_class=tokenizer).train()


def llava():
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration
    picture, pieces = 999, (112 // 14) ** 2
    text = LlamaConfig(vocab_size=1000, hidden_size=512, intermediate_size=1376, num_hidden_layers=2, num_attention_heads=8)
    vision = CLIPVisionConfig(hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=8, image_size=112, patch_size=14)
    model = LlavaForConditionalGeneration(LlavaConfig(vision_config=vision, text_config=text, image_token_index=picture)).to(DEVICE)
    tokens = torch.full((2, pieces + 32), 5)
    tokens[:, 4:4 + pieces] = picture
    labels = tokens.clamp(max=picture - 1).to(DEVICE)
    train(model, lambda _: model(input_ids=tokens.to(DEVICE), pixel_values=torch.randn(2, 3, 112, 112, device=DEVICE), labels=labels).loss)


class Graphs(nn.Module):
    def __init__(self):
        super().__init__()
        from torch_geometric.nn import GATConv, GCNConv
        self.convolution, self.attention = GCNConv(256, 256), GATConv(256, 16, heads=8)

    def forward(self, x, edges):
        return self.attention(self.convolution(x, edges).relu(), edges)


def gcn():
    model = Graphs().to(DEVICE)
    x, edges = torch.randn(10000, 256, device=DEVICE), torch.randint(0, 10000, (2, 100000)).to(DEVICE)
    train(model, lambda _: model(x, edges).float().square().mean())


def neighbours():
    """Two hops of at most 10 sampled neighbours, chosen on the host: torch_geometric's own sampler is a compiled companion."""
    model = Graphs().to(DEVICE)
    features, source = torch.randn(10000, 256), torch.randint(0, 10000, (10000, 10))

    def loss_of(step):
        seeds = torch.randperm(10000)[:512]
        first = source[seeds].flatten()
        nodes, local = torch.cat([seeds, first, source[first].flatten()]).unique(return_inverse=True)
        pairs = torch.stack([local[512:], torch.cat([local[:512].repeat_interleave(10), local[512:512 + 5120].repeat_interleave(10)])])
        return model(features[nodes].to(DEVICE), pairs.to(DEVICE)).float().square().mean()
    train(model, loss_of)


def flex():
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    compiled = torch.compile(flex_attention)
    mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 1024, 1024, device=DEVICE)
    projection = nn.Linear(512, 3 * 512, device=DEVICE)
    x = torch.randn(2, 1024, 512, device=DEVICE)

    def loss_of(_):
        q, k, v = (t.view(2, 1024, 8, 64).transpose(1, 2) for t in projection(x).chunk(3, dim=-1))
        return compiled(q, k, v, block_mask=mask).float().square().mean()
    train(projection, loss_of)


def fp8():
    from torchao.float8 import convert_to_float8_training
    model = nn.Sequential(nn.Linear(1024, 4096, bias=False), nn.GELU(), nn.Linear(4096, 1024, bias=False)).to(DEVICE, torch.bfloat16)
    convert_to_float8_training(model)
    train(model, lambda _: model(torch.randn(512, 1024, device=DEVICE, dtype=torch.bfloat16)).float().square().mean())


def dynamic():
    layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True, device=DEVICE)
    compiled = torch.compile(layer, dynamic=True)
    train(layer, lambda step: compiled(torch.randn(4, 128 + 56 * step, 256, device=DEVICE)).float().square().mean())


def tma():
    import triton_copy
    x, y = torch.randn(4096, 4096, device=DEVICE, dtype=torch.bfloat16), torch.empty(4096, 4096, device=DEVICE, dtype=torch.bfloat16)
    for _ in range(STEPS):
        triton_copy.doubled(x, y)


def dit():
    from diffusers import DDPMScheduler, DiTTransformer2DModel
    model = DiTTransformer2DModel(num_attention_heads=6, attention_head_dim=64, num_layers=4, sample_size=32, patch_size=2).to(DEVICE)
    scheduler = DDPMScheduler()
    classes = torch.randint(0, 1000, (8,), device=DEVICE)

    def loss_of(_):
        latents, noise = torch.randn(8, 4, 32, 32, device=DEVICE), torch.randn(8, 4, 32, 32, device=DEVICE)
        times = torch.randint(0, 1000, (8,), device=DEVICE)
        predicted = model(scheduler.add_noise(latents, noise, times), times, classes).sample
        return functional.mse_loss(predicted[:, :4].float(), noise)
    train(model, loss_of)
    scheduler.set_timesteps(4)
    latents = torch.randn(8, 4, 32, 32, device=DEVICE)
    with torch.no_grad(), torch.autocast(DEVICE, dtype=torch.bfloat16):
        for time in scheduler.timesteps:
            predicted = model(latents, time.repeat(8).to(DEVICE), classes).sample
            latents = scheduler.step(predicted[:, :4].float(), time, latents).prev_sample


def vit():
    import timm
    model = timm.create_model("vit_small_patch16_224").to(DEVICE)
    labels = torch.randint(0, 1000, (8,), device=DEVICE)
    train(model, lambda _: functional.cross_entropy(model(torch.randn(8, 3, 224, 224, device=DEVICE)).float(), labels), dtype=torch.float16,
          scaler=torch.amp.GradScaler())


if __name__ == "__main__":
    case = sys.argv[1]
    globals()[case]()
    torch.cuda.synchronize()
    print(f"{case} ok", flush=True)
