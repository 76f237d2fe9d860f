"""Trains a few steps with libraries on top of PyTorch whose kernels are all PyTorch's own: ecosystem.py CASE.

clip: open_clip's ViT-B/32. medical: MONAI's SwinUNETR, sliding windows. segmentation: DeepLabV3+ with a Lovasz loss. detection: torchvision's Mask R-CNN. equivariant: a tensor
product of e3nn. sentences: SentenceTransformerTrainer. lowrank: GaLore's AdamW (singular value decompositions). speech: wav2vec 2.0 with CTC, Whisper with generation. policy: PPO
and SAC of Stable-Baselines3 (torch.distributions checks what it samples: run with python -O). grpo: TRL's GRPOTrainer, generation and training. higher: gradient penalties,
spectral and weight norm, L-BFGS, vmap, Hessians, every optimizer of PyTorch. Ends with "CASE ok".
"""
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional

STEPS = 3
DEVICE = "cuda"


def train(model, loss_of, optimizer=None):
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(STEPS):
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            loss = loss_of()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def clip():
    import open_clip
    from open_clip.loss import ClipLoss
    model, _, _ = open_clip.create_model_and_transforms("ViT-B-32", pretrained=None, device=DEVICE, precision="amp_bf16")
    images, texts, loss = torch.randn(32, 3, 224, 224, device=DEVICE), torch.randint(0, 49408, (32, 77), device=DEVICE), ClipLoss()
    train(model, lambda: loss(*model(images, texts)))


def medical():
    from monai.inferers import sliding_window_inference
    from monai.losses import DiceCELoss
    from monai.networks.nets import SwinUNETR
    model, loss = SwinUNETR(in_channels=1, out_channels=4, feature_size=24, use_checkpoint=True).to(DEVICE), DiceCELoss(to_onehot_y=True, softmax=True)
    x, y = torch.randn(1, 1, 64, 64, 64, device=DEVICE), torch.randint(0, 4, (1, 1, 64, 64, 64), device=DEVICE)
    train(model, lambda: loss(model(x), y))
    with torch.no_grad():
        assert sliding_window_inference(torch.randn(1, 1, 96, 96, 96, device=DEVICE), (64, 64, 64), 2, model).shape == (1, 4, 96, 96, 96)


def segmentation():
    import segmentation_models_pytorch as smp
    model = smp.DeepLabV3Plus("resnet50", encoder_weights=None, classes=19).to(DEVICE, memory_format=torch.channels_last)
    loss = smp.losses.LovaszLoss("multiclass")
    x, y = torch.randn(4, 3, 256, 256, device=DEVICE), torch.randint(0, 19, (4, 256, 256), device=DEVICE)
    train(model, lambda: loss(model(x).float(), y))


def detection():
    from torchvision.models.detection import maskrcnn_resnet50_fpn
    model = maskrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=5).to(DEVICE).train()
    images = [torch.rand(3, 256, 256, device=DEVICE) for _ in range(2)]
    boxes, labels = torch.tensor([[10.0, 10, 100, 100], [50, 50, 200, 200]], device=DEVICE), torch.tensor([1, 2], device=DEVICE)
    wanted = [{"boxes": boxes, "labels": labels, "masks": torch.zeros(2, 256, 256, dtype=torch.uint8, device=DEVICE)} for _ in images]
    train(model, lambda: sum(model(images, wanted).values()))


def equivariant():
    from e3nn import o3
    product = o3.FullyConnectedTensorProduct("16x0e+16x1o", "1x0e+1x1o", "16x0e+16x1o").to(DEVICE)
    x, y = torch.randn(128, 64, device=DEVICE), torch.randn(128, 4, device=DEVICE)
    train(product, lambda: product(x, y).square().mean())


def sentences():
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments, losses, models
    from transformers import BertConfig, BertModel, BertTokenizerFast
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/vocab.txt", "w") as file:
            file.write("\n".join("[PAD] [UNK] [CLS] [SEP] [MASK] hello world a b".split()))
        BertTokenizerFast(f"{folder}/vocab.txt").save_pretrained(folder)
        BertModel(BertConfig(vocab_size=16, hidden_size=256, num_hidden_layers=2, num_attention_heads=4, intermediate_size=1024)).save_pretrained(folder)
        words = models.Transformer(folder, max_seq_length=64)
        model = SentenceTransformer(modules=[words, models.Pooling(256)])
        pairs = Dataset.from_dict({"anchor": ["hello world"] * 64, "positive": ["hello a"] * 64})
        arguments = SentenceTransformerTrainingArguments(output_dir=f"{folder}/out", per_device_train_batch_size=16, num_train_epochs=1, bf16=True, report_to=[], save_strategy="no")
        SentenceTransformerTrainer(model=model, args=arguments, train_dataset=pairs, loss=losses.MultipleNegativesRankingLoss(model)).train()
        assert model.encode(["hello"], convert_to_tensor=True).shape == (1, 256)


def lowrank():
    from galore_torch import GaLoreAdamW
    model = nn.Sequential(nn.Linear(512, 1024), nn.GELU(), nn.Linear(1024, 512)).to(DEVICE)
    matrices, vectors = [p for p in model.parameters() if p.ndim == 2], [p for p in model.parameters() if p.ndim < 2]
    groups = [{"params": vectors}, {"params": matrices, "rank": 128, "update_proj_gap": 2, "scale": 0.25, "proj_type": "std"}]
    x = torch.randn(64, 512, device=DEVICE)
    train(model, lambda: model(x).square().mean(), GaLoreAdamW(groups, lr=1e-3))


def speech():
    from transformers import Wav2Vec2Config, Wav2Vec2ForCTC, WhisperConfig, WhisperForConditionalGeneration
    sizes = dict(hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256, vocab_size=32)
    listener = Wav2Vec2ForCTC(Wav2Vec2Config(mask_time_prob=0.1, **sizes)).to(DEVICE).train()
    wave, letters = torch.randn(2, 16000, device=DEVICE), torch.randint(1, 31, (2, 10), device=DEVICE)
    train(listener, lambda: listener(wave, labels=letters).loss)
    whisper = WhisperForConditionalGeneration(WhisperConfig(d_model=128, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                                                            encoder_ffn_dim=256, decoder_ffn_dim=256)).to(DEVICE)
    sound, words = torch.randn(2, 80, 3000, device=DEVICE), torch.randint(0, 100, (2, 20), device=DEVICE)
    train(whisper, lambda: whisper(input_features=sound, labels=words).loss)
    assert whisper.generate(sound[:1], max_new_tokens=8).shape[1] == 8


def policy():
    from stable_baselines3 import PPO, SAC
    PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=64, device=DEVICE).learn(256)
    SAC("MlpPolicy", "Pendulum-v1", device=DEVICE, learning_starts=50).learn(80)


def grpo():
    from datasets import Dataset
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    from trl import GRPOConfig, GRPOTrainer
    words = ["<pad>", "<eos>", "<unk>"] + [f"w{i}" for i in range(97)]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")
    with tempfile.TemporaryDirectory() as folder:
        LlamaForCausalLM(LlamaConfig(hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4, vocab_size=100, pad_token_id=0,
                                     eos_token_id=1)).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        arguments = GRPOConfig(output_dir=f"{folder}/out", per_device_train_batch_size=4, num_generations=4, max_completion_length=16, max_steps=2, report_to=[],
                               save_strategy="no", bf16=True, beta=0.04)
        GRPOTrainer(model=folder, processing_class=tokenizer, reward_funcs=lambda completions, **_: [float(len(c)) for c in completions], args=arguments,
                    train_dataset=Dataset.from_dict({"prompt": ["w1 w2 w3"] * 16})).train()


def higher():
    critic = nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Conv2d(3, 8, 3)), nn.LeakyReLU(), nn.Flatten(),
                           nn.utils.parametrizations.weight_norm(nn.Linear(8 * 30 * 30, 1))).to(DEVICE)
    x = torch.randn(4, 3, 32, 32, device=DEVICE, requires_grad=True)
    slope, = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    (slope.flatten(1).norm(dim=1) - 1).square().mean().backward()
    search = torch.optim.LBFGS(critic.parameters(), max_iter=3)

    def closure():
        search.zero_grad()
        loss = critic(x.detach()).square().mean()
        loss.backward()
        return loss
    search.step(closure)
    torch.optim.swa_utils.AveragedModel(critic).update_parameters(critic)
    w, a = torch.randn(5, 5, device=DEVICE), torch.randn(7, 5, device=DEVICE)

    def function(weight, row):
        return torch.tanh(row @ weight).sum()
    assert torch.func.vmap(torch.func.grad(function), (None, 0))(w, a).shape == (7, 5, 5)
    assert torch.func.hessian(function)(w, a[0]).shape == (5, 5, 5, 5)
    for kind in "Adagrad Adadelta Adam Adamax AdamW RAdam NAdam RMSprop Rprop ASGD SGD Adafactor Muon".split():
        weight = nn.Parameter(torch.randn(8, 8, device=DEVICE))
        optimizer = getattr(torch.optim, kind)([weight])
        for _ in range(STEPS):
            weight.square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    table = nn.Embedding(100, 16, sparse=True).to(DEVICE)
    optimizer = torch.optim.SparseAdam(table.parameters())
    table(torch.randint(0, 100, (4,), device=DEVICE)).sum().backward()
    optimizer.step()
    nested = torch.nested.nested_tensor([torch.randn(3, 8, device=DEVICE), torch.randn(5, 8, device=DEVICE)], layout=torch.jagged, requires_grad=True)
    nn.Linear(8, 8).to(DEVICE)(nested).values().sum().backward()
    functional.interpolate(x, scale_factor=2, mode="bicubic").sum().backward()


if __name__ == "__main__":
    case = sys.argv[1]
    globals()[case]()
    torch.cuda.synchronize()
    print(f"{case} ok", flush=True)
