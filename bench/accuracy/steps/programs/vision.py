"""An image classifier of torchvision, trained on synthetic images that stay on the device.

    python vision.py --model resnet50 --batch 256 --precision amp --channels-last
"""
import argparse

import torch
import torchvision


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="resnet50")
    p.add_argument("--batch", type=int, required=True)
    p.add_argument("--size", type=int, default=224)
    p.add_argument("--precision", choices=["fp32", "tf32", "amp"], required=True)
    p.add_argument("--channels-last", action="store_true")
    p.add_argument("--steps", type=int, default=3)
    a = p.parse_args()

    tf32 = a.precision != "fp32"
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True
    layout = torch.channels_last if a.channels_last else torch.contiguous_format
    with torch.device("cuda"):
        model = torchvision.models.get_model(a.model, weights=None)
        images = torch.randn(a.batch, 3, a.size, a.size)
        labels = torch.ones(a.batch, dtype=torch.int64)
    model, images = model.to(memory_format=layout), images.contiguous(memory_format=layout)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.875, weight_decay=3e-5)
    scaler = torch.amp.GradScaler("cuda", enabled=a.precision == "amp")
    criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
    for step in range(a.steps):
        torch.cuda.nvtx.range_push("step")
        with torch.autocast("cuda", dtype=torch.float16, enabled=a.precision == "amp"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        torch.cuda.nvtx.range_pop()
    print(f"done: {a.steps} steps, peak allocated {torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
