"""Attention with every mask that broadcasts over batch, heads and queries, in every type, forward and backward, by whichever library PyTorch takes."""
import torch
import torch.nn.functional as F

B, H, S, D = 2, 4, 128, 64
count = 0
for dtype in (torch.bfloat16, torch.float16, torch.float32):
    q, k, v = (torch.randn(B, H, S, D, device="cuda", dtype=dtype, requires_grad=True) for _ in range(3))
    for shape in ((S, S), (1, S), (H, S, S), (B, 1, 1, S), (B, 1, S, S), (1, H, S, S), (1, 1, S, S), (B, H, S, S)):
        masks = [torch.ones(shape, dtype=torch.bool, device="cuda"), torch.zeros(shape, dtype=dtype, device="cuda"),
                 torch.zeros(shape, dtype=dtype, device="cuda", requires_grad=True)]
        for mask in masks:
            F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=0.1).sum().backward()
            count += 1
print(f"ok {count}")
