"""Trains a few steps with what people use unmodified on top of PyTorch, each by its own trainer where it has one: applications.py CASE.

detector: Ultralytics' YOLOv8n, its trainer, validation and prediction. vision: fastai's vision_learner, learning rate finder, augmentation on the device, one cycle. keras: Keras 3
on PyTorch: fit with validation, checkpoints, LSTM and attention. trainer: Lightning with 16-bit floats, learning rate finder, callbacks, checkpoint and resume. forecast: a temporal
fusion transformer of PyTorch Forecasting. augment: Kornia's augmentations on the device. private: gradients of every sample with Opacus, three ways. process: exact Gaussian processes
of GPyTorch, Cholesky and conjugate gradients. sound: spectrograms and a Conformer of torchaudio. preference: TRL's DPO and reward trainers. layers: x-transformers, a selective scan of
mambapy. boxes: DETR and Mask2Former of transformers. languages: Qwen2-VL, DeepSeek-V3, GPT-OSS, Llama 4, Gemma 3, Mamba 2, trained and generating. Ends with "CASE ok".
"""
import os
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional

STEPS = 4
DEVICE = "cuda"


def train(model, loss_of, steps=STEPS):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(steps):
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            loss = loss_of()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def write_images(folder, names, size):
    import numpy
    from PIL import Image
    os.makedirs(folder, exist_ok=True)
    for name in names:
        Image.fromarray(numpy.random.randint(0, 255, (size, size, 3), dtype=numpy.uint8)).save(f"{folder}/{name}.jpg")


def detector():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["YOLO_CONFIG_DIR"] = folder
        from ultralytics import YOLO
        for part, count in (("train", 32), ("val", 8)):
            write_images(f"{folder}/images/{part}", range(count), 160)
            os.makedirs(f"{folder}/labels/{part}")
            for i in range(count):
                with open(f"{folder}/labels/{part}/{i}.txt", "w") as file:
                    file.write("0 0.5 0.5 0.3 0.3\n1 0.3 0.3 0.2 0.2\n")
        with open(f"{folder}/data.yaml", "w") as file:
            file.write(f"path: {folder}\ntrain: images/train\nval: images/val\nnames:\n  0: a\n  1: b\n")
        model = YOLO("yolov8n.yaml")
        model.train(data=f"{folder}/data.yaml", epochs=2, imgsz=160, batch=8, nbs=8, workers=2, device=0, project=folder, plots=False, pretrained=False)
        assert len(model.predict(f"{folder}/images/val/0.jpg", device=0)) == 1


def vision():
    from fastai.vision.all import ImageDataLoaders, Path, Resize, aug_transforms, error_rate, get_image_files, resnet18, vision_learner
    with tempfile.TemporaryDirectory() as folder:
        write_images(folder, [f"{'cat' if i % 2 else 'dog'}_{i}" for i in range(64)], 96)
        # Bilinear augmentation divides by a distance that kernels compute.
        data = ImageDataLoaders.from_name_func(Path(folder), get_image_files(folder), valid_pct=0.25, label_func=lambda name: name.split("_")[0], item_tfms=Resize(64),
                                               batch_tfms=aug_transforms(size=64, mode="nearest"), bs=8, num_workers=2, device=torch.device(DEVICE))
        learner = vision_learner(data, resnet18, metrics=error_rate, pretrained=False).to_fp16()
        learner.lr_find(num_it=8, show_plot=False)
        learner.fit_one_cycle(2, 1e-3)
        assert learner.get_preds()[0].shape == (16, 2)


def keras():
    os.environ["KERAS_BACKEND"] = "torch"
    import keras as k
    import numpy
    layers = k.layers
    images = k.Sequential([layers.Input((32, 32, 3)), layers.Conv2D(32, 3, padding="same"), layers.BatchNormalization(), layers.ReLU(), layers.MaxPooling2D(), layers.Conv2D(64, 3),
                           layers.GlobalAveragePooling2D(), layers.Dropout(0.2), layers.Dense(10)])
    images.compile("adam", k.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    x, y = numpy.random.rand(256, 32, 32, 3).astype("float32"), numpy.random.randint(0, 10, 256)
    with tempfile.TemporaryDirectory() as folder:
        images.fit(x, y, batch_size=32, epochs=2, validation_split=0.2, verbose=0, callbacks=[k.callbacks.EarlyStopping(), k.callbacks.ModelCheckpoint(f"{folder}/m.keras")])
    assert images.predict(x[:4], verbose=0).shape == (4, 10)
    words = layers.Input((16,))
    hidden = layers.LSTM(64, return_sequences=True)(layers.Embedding(1000, 64)(words))
    text = k.Model(words, layers.Dense(2)(layers.GlobalAveragePooling1D()(layers.MultiHeadAttention(4, 16)(hidden, hidden))))
    text.compile(k.optimizers.AdamW(1e-3, clipnorm=1.0), k.losses.SparseCategoricalCrossentropy(from_logits=True))
    text.fit(numpy.random.randint(0, 1000, (256, 16)), numpy.random.randint(0, 2, 256), batch_size=32, verbose=0)


def trainer():
    import lightning
    from lightning.pytorch import callbacks, tuner

    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.GELU(), nn.BatchNorm1d(512), nn.Linear(512, 10))
            self.lr = 1e-3

        def loss(self, batch):
            return functional.cross_entropy(self.net(batch[0]), batch[1])

        def training_step(self, batch, _):
            loss = self.loss(batch)
            self.log("train_loss", loss)
            return loss

        def validation_step(self, batch, _):
            self.log("val_loss", self.loss(batch))

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=self.lr)

    samples = torch.utils.data.TensorDataset(torch.randn(256, 1, 28, 28), torch.randint(0, 10, (256,)))
    training, validation = torch.utils.data.DataLoader(samples, 32, num_workers=2, pin_memory=True, persistent_workers=True), torch.utils.data.DataLoader(samples, 32)
    with tempfile.TemporaryDirectory() as folder:
        common = dict(accelerator="gpu", devices=1, precision="16-mixed", default_root_dir=folder, gradient_clip_val=1.0, log_every_n_steps=2)
        kept = callbacks.ModelCheckpoint(dirpath=folder, monitor="val_loss", save_last=True)
        first = lightning.Trainer(max_epochs=3, callbacks=[kept, callbacks.EarlyStopping("val_loss"), callbacks.LearningRateMonitor(), callbacks.DeviceStatsMonitor()],
                                  logger=lightning.pytorch.loggers.CSVLogger(folder), **common)
        model = Classifier()
        tuner.Tuner(first).lr_find(model, training, validation, num_training=8)
        first.fit(model, training, validation)
        lightning.Trainer(max_epochs=5, logger=False, enable_checkpointing=False, **common).fit(model, training, validation, ckpt_path=kept.last_model_path)


def forecast():
    import lightning
    import math
    import pandas
    from pytorch_forecasting import TemporalFusionTransformer, TimeSeriesDataSet
    from pytorch_forecasting.data import GroupNormalizer
    from pytorch_forecasting.metrics import QuantileLoss
    table = pandas.DataFrame([{"t": t, "g": str(g), "v": math.sin(t / 5) + g, "x": float(t)} for g in range(8) for t in range(60)])
    series = TimeSeriesDataSet(table, time_idx="t", target="v", group_ids=["g"], max_encoder_length=24, max_prediction_length=6, static_categoricals=["g"],
                               time_varying_known_reals=["x"], time_varying_unknown_reals=["v"], target_normalizer=GroupNormalizer(groups=["g"]), add_relative_time_idx=True,
                               add_target_scales=True, add_encoder_length=True)
    training, validation = (series.to_dataloader(train=kind, batch_size=32, num_workers=0) for kind in (True, False))
    model = TemporalFusionTransformer.from_dataset(series, hidden_size=32, attention_head_size=2, loss=QuantileLoss(), log_interval=0)
    lightning.Trainer(accelerator="gpu", devices=1, max_epochs=1, gradient_clip_val=0.1, logger=False, enable_checkpointing=False).fit(model, training, validation)
    assert model.predict(validation).shape[1] == 6


def augment():
    import torchvision
    from kornia import augmentation, filters
    chain = nn.Sequential(augmentation.RandomResizedCrop((224, 224)), augmentation.RandomHorizontalFlip(), augmentation.ColorJitter(0.4, 0.4, 0.4, 0.1),
                          augmentation.RandomGaussianBlur((9, 9), (0.1, 2.0)), augmentation.RandomAffine(15.0), augmentation.RandomPerspective(),
                          augmentation.RandomErasing()).to(DEVICE)
    model = torchvision.models.resnet18().to(DEVICE)

    def loss():
        with torch.no_grad():
            images = chain(torch.rand(8, 3, 256, 256, device=DEVICE))
        return model(images).sum()
    train(model, loss)
    both = augmentation.AugmentationSequential(augmentation.RandomAffine(10.0), data_keys=["input", "mask"])
    assert [x.shape[1] for x in both(torch.rand(2, 3, 64, 64, device=DEVICE), torch.rand(2, 1, 64, 64, device=DEVICE))] == [3, 1]
    assert filters.canny(torch.rand(2, 3, 64, 64, device=DEVICE))[0].shape == (2, 1, 64, 64)


def private():
    from opacus import PrivacyEngine
    samples = torch.utils.data.TensorDataset(torch.randn(256, 1, 28, 28), torch.randint(0, 10, (256,)))
    for mode in ("hooks", "functorch", "ghost"):
        model = nn.Sequential(nn.Conv2d(1, 16, 8, 2, padding=3), nn.ReLU(), nn.GroupNorm(4, 16), nn.Flatten(), nn.Linear(16 * 14 * 14, 10)).to(DEVICE)
        engine, loss = PrivacyEngine(), nn.CrossEntropyLoss()
        parts = dict(module=model, optimizer=torch.optim.SGD(model.parameters(), 0.1), data_loader=torch.utils.data.DataLoader(samples, batch_size=32), noise_multiplier=1.1,
                     max_grad_norm=1.0, poisson_sampling=False, grad_sample_mode=mode, **({"criterion": loss} if mode == "ghost" else {}))
        made = engine.make_private(**parts)
        model, optimizer, batches = made[0], made[1], made[-1]
        loss = made[2] if mode == "ghost" else loss
        for x, y in batches:
            result = loss(model(x.to(DEVICE)), y.to(DEVICE))
            optimizer.zero_grad()
            result.backward()
            optimizer.step()
        assert engine.get_epsilon(1e-5) > 0


def process():
    import gpytorch

    class Process(gpytorch.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            self.mean_module, self.covar_module = gpytorch.means.ConstantMean(), gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    for points in (200, 1200):  # Cholesky, conjugate gradients
        x = torch.linspace(0, 1, points, device=DEVICE)
        likelihood = gpytorch.likelihoods.GaussianLikelihood().to(DEVICE)
        model = Process(x, torch.sin(6 * x), likelihood).to(DEVICE)
        optimizer, score = torch.optim.Adam(model.parameters(), 0.1), gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
        for _ in range(STEPS):
            optimizer.zero_grad()
            (-score(model(x), torch.sin(6 * x))).backward()
            optimizer.step()
        model.eval(), likelihood.eval()
        with torch.no_grad(), gpytorch.settings.fast_pred_var():
            assert likelihood(model(x[:50] + 0.01)).variance.shape == (50,)


def sound():
    from torchaudio import models, transforms
    wave = torch.randn(4, 32000, device=DEVICE)
    spectrogram = nn.Sequential(transforms.MelSpectrogram(16000, n_mels=80), transforms.AmplitudeToDB(), transforms.FrequencyMasking(20), transforms.TimeMasking(20)).to(DEVICE)
    model = nn.ModuleDict({"body": models.Conformer(80, 4, 256, 4, 31), "head": nn.Linear(80, 30)}).to(DEVICE)

    def loss():
        frames = spectrogram(wave).transpose(1, 2)
        lengths = torch.full((4,), frames.shape[1], device=DEVICE)
        letters = model["head"](model["body"](frames, lengths)[0]).float().log_softmax(-1).transpose(0, 1)
        return functional.ctc_loss(letters, torch.randint(1, 30, (4, 20), device=DEVICE), lengths, torch.full((4,), 20, device=DEVICE))
    train(model, loss)
    assert transforms.Resample(16000, 8000).to(DEVICE)(wave).shape == (4, 16000)


def preference():
    from datasets import Dataset
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, LlamaForSequenceClassification, PreTrainedTokenizerFast
    from trl import DPOConfig, DPOTrainer, RewardConfig, RewardTrainer
    words = ["<pad>", "<eos>", "<unk>"] + [f"w{i}" for i in range(97)]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")
    pairs = Dataset.from_dict({"prompt": ["w1 w2 w3"] * 32, "chosen": ["w4 w5 w6"] * 32, "rejected": ["w7 w8"] * 32})
    config = LlamaConfig(hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4, vocab_size=100, pad_token_id=0, eos_token_id=1, num_labels=1)
    for kind, Model, Config, Trainer in (("dpo", LlamaForCausalLM, DPOConfig, DPOTrainer), ("reward", LlamaForSequenceClassification, RewardConfig, RewardTrainer)):
        with tempfile.TemporaryDirectory() as folder:
            Model(config).save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            arguments = Config(output_dir=f"{folder}/out", per_device_train_batch_size=4, max_steps=STEPS, bf16=True, report_to=[], save_strategy="no")
            Trainer(model=folder, args=arguments, train_dataset=pairs, processing_class=tokenizer).train()


def layers():
    from mambapy.mamba import Mamba, MambaConfig
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper
    body = Decoder(dim=512, depth=4, heads=8, rotary_pos_emb=True, attn_flash=True, ff_glu=True, use_rmsnorm=True)
    model = AutoregressiveWrapper(TransformerWrapper(num_tokens=20000, max_seq_len=1024, attn_layers=body)).to(DEVICE)
    tokens = torch.randint(0, 20000, (2, 1024), device=DEVICE)
    train(model, lambda: model(tokens))
    assert model.generate(tokens[:1, :8], 16).shape == (1, 16)
    scan, x = Mamba(MambaConfig(d_model=256, n_layers=4, pscan=True)).to(DEVICE), torch.randn(4, 256, 256, device=DEVICE)
    train(scan, lambda: scan(x).square().mean())


def boxes():
    from transformers import DetrConfig, DetrForObjectDetection, Mask2FormerConfig, Mask2FormerForUniversalSegmentation, ResNetConfig, SwinConfig
    detr = DetrForObjectDetection(DetrConfig(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, d_model=64, encoder_layers=2, decoder_layers=2,
                                             backbone_config=ResNetConfig(out_features=["stage4"], depths=[1, 1, 1, 1]), encoder_attention_heads=4,
                                             decoder_attention_heads=4, num_queries=20, num_labels=5)).to(DEVICE)
    images = torch.randn(2, 3, 224, 224, device=DEVICE)
    wanted = [{"class_labels": torch.tensor([1, 2], device=DEVICE), "boxes": torch.rand(2, 4, device=DEVICE) * 0.4 + 0.2} for _ in images]
    train(detr, lambda: detr(pixel_values=images, labels=wanted).loss)
    masks = Mask2FormerForUniversalSegmentation(Mask2FormerConfig(num_labels=5, num_queries=10, decoder_layers=3, encoder_layers=2, train_num_points=256,
                                                                  backbone_config=SwinConfig(depths=[1, 1, 1, 1], embed_dim=32, num_heads=[1, 2, 4, 8],
                                                                                             out_features=["stage1", "stage2", "stage3", "stage4"]))).to(DEVICE)
    small, truth = images[:, :, :128, :128].contiguous(), [torch.randint(0, 2, (3, 128, 128), device=DEVICE).float() for _ in images]
    classes = [torch.tensor([0, 1, 2], device=DEVICE) for _ in images]
    train(masks, lambda: masks(pixel_values=small, mask_labels=truth, class_labels=classes).loss)


def languages():
    import transformers
    sizes = dict(hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=8, num_key_value_heads=4, vocab_size=1000, max_position_embeddings=512,
                 pad_token_id=0, bos_token_id=1, eos_token_id=2)
    tokens = torch.randint(10, 1000, (4, 128)).to(DEVICE)  # what comes from the host is known on the device
    experts = dict(num_local_experts=4, head_dim=32)
    kinds = {
        "Gemma3": ("Gemma3TextConfig", dict(head_dim=32, sliding_window=64)),
        "GptOss": ("GptOssConfig", dict(num_experts_per_tok=2, sliding_window=64, **experts)),
        "Llama4": ("Llama4TextConfig", dict(num_experts_per_tok=1, intermediate_size_mlp=512, attention_chunk_size=64, **experts)),
        "DeepseekV3": ("DeepseekV3Config", dict(num_key_value_heads=8, n_routed_experts=8, num_experts_per_tok=2, n_group=2, topk_group=1, moe_intermediate_size=128,
                                                first_k_dense_replace=1, q_lora_rank=64, kv_lora_rank=32, qk_nope_head_dim=32, qk_rope_head_dim=16, v_head_dim=32)),
        "Mamba2": ("Mamba2Config", dict(head_dim=32, num_heads=16, expand=2, state_size=32, n_groups=2, chunk_size=64)),
    }
    for name, (config, more) in kinds.items():
        model = getattr(transformers, f"{name}ForCausalLM")(getattr(transformers, config)(**{**sizes, **more})).to(DEVICE)
        train(model, lambda: model(input_ids=tokens, labels=tokens).loss)
        assert model.eval().generate(tokens[:1, :16], max_new_tokens=8, do_sample=False).shape == (1, 24)
    # Each of two sequences has an image of 8 x 8 patches, which become 16 tokens; their number is a product of sizes that is worked out on the device.
    sees = transformers.Qwen2VLForConditionalGeneration(transformers.Qwen2VLConfig(
        text_config={**sizes, "rope_scaling": {"type": "mrope", "mrope_section": [4, 6, 6]}}, vision_config=dict(depth=2, embed_dim=64, hidden_size=256, num_heads=4, patch_size=14),
        image_token_id=5, video_token_id=6, vision_start_token_id=7, vision_end_token_id=8)).to(DEVICE)
    text = tokens[:2].clone()
    text[:, 4], text[:, 5:21], text[:, 21] = 7, 5, 8
    patches, grid = torch.randn(2 * 64, 3 * 2 * 14 * 14, device=DEVICE), torch.tensor([[1, 8, 8]] * 2, device=DEVICE)
    train(sees, lambda: sees(input_ids=text, labels=text, attention_mask=torch.ones_like(text), pixel_values=patches, image_grid_thw=grid, mm_token_type_ids=(text == 5).long()).loss)


if __name__ == "__main__":
    case = sys.argv[1]
    globals()[case]()
    torch.cuda.synchronize()
    print(f"{case} ok", flush=True)
