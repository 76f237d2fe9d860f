"""Expert parallelism: tokens go to the rank of their expert and back, with uneven splits that the ranks tell each other first."""
import torch
import torch.distributed as dist
from torch.distributed._functional_collectives import all_to_all_single_autograd

from common import RANK, WORLD, finish, options, start

HIDDEN, STEPS = 32, 3
a = options()
device = start(a)
expert = torch.nn.Sequential(torch.nn.Linear(HIDDEN, 64), torch.nn.GELU(), torch.nn.Linear(64, HIDDEN)).to(device)
for step in range(STEPS):
    # Rank r sends r + d + 1 tokens to rank d; what it gets from rank s is therefore s + r + 1.
    sends = [RANK + d + 1 for d in range(WORLD)]
    received = torch.empty(WORLD, dtype=torch.int64, device=device)
    dist.all_to_all_single(received, torch.tensor(sends, device=device))
    receives = received.tolist()
    assert receives == [s + RANK + 1 for s in range(WORLD)], receives

    # A token's value names its sender and its target.
    tokens = torch.cat([torch.full((n, HIDDEN), 100.0 * RANK + d) for d, n in enumerate(sends)]).to(device)
    arrived = torch.empty(sum(receives), HIDDEN, device=device)
    dist.all_to_all_single(arrived, tokens, receives, sends)
    wanted = torch.cat([torch.full((n, HIDDEN), 100.0 * s + RANK) for s, n in enumerate(receives)])
    assert torch.equal(arrived.cpu(), wanted)
    returned = torch.empty_like(tokens)
    dist.all_to_all_single(returned, arrived, sends, receives)
    assert torch.equal(returned.cpu(), tokens.cpu())

    # The same with gradients: two exchanges forward, two backward.
    tokens.requires_grad_()
    arrived = all_to_all_single_autograd(tokens, receives, sends, dist.group.WORLD)
    returned = all_to_all_single_autograd(expert(arrived), sends, receives, dist.group.WORLD)
    returned.sum().backward()
    assert tokens.grad.shape == tokens.shape
finish("expert parallel")
