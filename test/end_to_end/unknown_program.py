"""What training loops ask of numbers that kernels would have computed: unknown ones are finite."""
import torch

for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64):
    a = torch.randn(128, 128, device="cuda", dtype=dtype)
    for x in (a @ a, (a @ a).t(), (a @ a)[::2, 1:], (a @ a).sum(), (a @ a).norm(), (a @ a).mean(dtype=torch.float32)):
        assert torch.isfinite(x).all(), (dtype, x.shape)
        assert (x == x).all() and not (x != x).any()
        assert not torch.isnan(x).any() and not torch.isinf(x).any()
        assert (x < float("inf")).all() and (x > -float("inf")).all() and not (x >= float("inf")).any()
model = torch.nn.Linear(4096, 4096, device="cuda")
loss = model(torch.randn(8, 4096, device="cuda")).square().mean()
assert loss.isfinite()
loss.backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
assert all(p.grad.isfinite().all() for p in model.parameters())
# torch.distributions checks its parameters.
policy = torch.distributions.Categorical(logits=model(torch.randn(4, 4096, device="cuda")))
policy.entropy().mean().backward()
# What is known stays what it is.
known = torch.tensor([1.0, float("inf"), float("nan")], device="cuda")
assert known.isfinite().tolist() == [True, False, False] and known.isnan().tolist() == [False, False, True]
print("ok")
