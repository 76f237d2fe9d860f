"""Adam with one kernel a step for all parameters and no temporary tensors; its step is a number in the group, not a tensor."""
import torch
from torch.optim import SGD as FusedSGD  # noqa: F401


class FusedAdam(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, bias_correction=True, betas=(0.9, 0.999), eps=1e-8, adam_w_mode=True, weight_decay=0.0,
                 amsgrad=False, set_grad_none=True, capturable=False, master_weights=False, **_):
        self.bias_correction, self.adam_w_mode = bias_correction, adam_w_mode
        super().__init__(params, dict(lr=lr, bias_correction=bias_correction, betas=betas, eps=eps, weight_decay=weight_decay))
        self._dummy_overflow_buf = torch.zeros(1, dtype=torch.int, device="cuda")

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            group["step"] = group.get("step", 0) + 1
            params = [p for p in group["params"] if p.grad is not None]
            for p in params:
                if "exp_avg" not in self.state[p]:
                    self.state[p]["exp_avg"] = torch.zeros_like(p, dtype=torch.float)
                    self.state[p]["exp_avg_sq"] = torch.zeros_like(p, dtype=torch.float)
            if not params:
                continue
            step = torch.full((), float(group["step"] - 1), device=params[0].device)
            torch._fused_adamw_(params, [p.grad for p in params], [self.state[p]["exp_avg"] for p in params],
                                [self.state[p]["exp_avg_sq"] for p in params], [], [step] * len(params), lr=group["lr"],
                                beta1=group["betas"][0], beta2=group["betas"][1], weight_decay=group["weight_decay"], eps=group["eps"],
                                amsgrad=False, maximize=False)
