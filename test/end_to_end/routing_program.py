"""Tokens an expert, in the ways that programs count them, where routing is balanced: as many for each, for few tokens and for many.

Prints `ok` for each count of tokens when all ways agree with tokens x choices / experts.
"""
import torch
import torch.nn.functional as F


def experts_in_a_loop(chosen, experts):  # transformers 4
    mask = F.one_hot(chosen, num_classes=experts).permute(2, 1, 0)
    return [len(torch.where(mask[e])[1]) for e in range(experts)]


def experts_that_were_hit(chosen, experts):  # transformers 5
    mask = F.one_hot(chosen, num_classes=experts).permute(2, 1, 0)
    return [len(torch.where(mask[e[0]])[1]) for e in torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero()]


def equality(chosen, experts):
    return [len((chosen == e).nonzero()) for e in range(experts)]


def bincount(chosen, experts):
    return torch.bincount(chosen.flatten(), minlength=experts).tolist()


def histogram_of_sorted(chosen, experts):  # grouped products
    flat = chosen.flatten()
    return torch.histc(flat[torch.argsort(flat, stable=True)].int(), bins=experts, min=0, max=experts - 1).tolist()


def bounds_of_sorted(chosen, experts):
    values = torch.sort(chosen.flatten())[0]
    return torch.diff(torch.searchsorted(values, torch.arange(experts + 1, device=values.device))).tolist()


def unique(chosen, experts):
    return torch.unique(chosen, return_counts=True)[1].tolist()


def routing_map(chosen, experts):  # Megatron-LM
    return chosen_map(chosen, experts).sum(dim=0).tolist()


def chosen_map(chosen, experts):
    return torch.zeros(len(chosen), experts, dtype=torch.bool, device=chosen.device).scatter_(1, chosen, True)


def tokens_of_map(chosen, experts):
    turned = chosen_map(chosen, experts).T.contiguous()
    tokens = torch.arange(len(chosen), device=chosen.device).unsqueeze(0).expand(experts, -1)
    assert tokens.masked_select(turned).shape[0] == chosen.numel()
    return turned.sum(dim=1).tolist()


def counts_of_rows(chosen, experts):  # DeepSeek
    return chosen.new_zeros((chosen.shape[0], experts)).scatter_(1, chosen, 1).sum(dim=0).tolist()


def running_count(chosen, experts):  # GShard: places in the expert's buffer
    return F.one_hot(chosen, experts).sum(dim=1).cumsum(dim=0)[-1].tolist()


def scatter_add(chosen, experts):
    ones = torch.ones_like(chosen.flatten())
    return torch.zeros(experts, dtype=torch.int64, device=chosen.device).scatter_add_(0, chosen.flatten(), ones).tolist()


def deterministic_map(chosen, experts):  # Megatron-LM with --deterministic-mode
    tokens, elements = len(chosen), len(chosen) * experts
    block = torch.zeros(4 * elements + 8 * tokens, dtype=torch.uint8, device=chosen.device)  # the numbers of rows lie right behind what is written
    probabilities, mask = (block[2 * elements * i:2 * elements * (i + 1)].view(torch.bfloat16).view(tokens, experts) for i in (1, 0))
    rows = block[4 * elements:].view(torch.int64).copy_(torch.arange(tokens, device=chosen.device)).unsqueeze(1)
    torch.use_deterministic_algorithms(True)
    probabilities.index_put_((rows, chosen), torch.rand(chosen.shape, device=chosen.device).bfloat16(), accumulate=False)
    mask.index_put_((rows, chosen), torch.ones_like(chosen, dtype=torch.bfloat16), accumulate=False)
    torch.use_deterministic_algorithms(False)
    return mask.bool().sum(dim=0).tolist()


def map_beside_probabilities(chosen, experts):  # Megatron-LM without: the choice lies right behind what is written by it
    tokens, elements = len(chosen), len(chosen) * experts
    block = torch.zeros(4 * elements + 8 * chosen.numel(), dtype=torch.uint8, device=chosen.device)
    probabilities, again = block[:4 * elements].view(torch.float).view(tokens, experts), block[4 * elements:].view(torch.int64).view(chosen.shape)
    again.copy_(chosen)
    probabilities.scatter_(1, again, torch.rand(chosen.shape, device=chosen.device))
    return torch.zeros(tokens, experts, dtype=torch.int32, device=chosen.device).scatter(1, again, 1).bool().sum(dim=0).tolist()


WAYS = [experts_in_a_loop, experts_that_were_hit, equality, bincount, histogram_of_sorted, bounds_of_sorted, unique, routing_map, tokens_of_map,
        counts_of_rows, running_count, scatter_add, deterministic_map, map_beside_probabilities]
for tokens, experts, choices in [(64, 8, 2), (4096, 8, 2), (16384, 64, 6), (32768, 8, 2)]:
    hidden = torch.randn(tokens, 64, device="cuda", dtype=torch.bfloat16)
    scores = F.softmax(F.linear(hidden, torch.randn(experts, 64, device="cuda", dtype=torch.bfloat16)), dim=1, dtype=torch.float)
    chosen = torch.topk(scores, choices, dim=-1)[1]
    for way in WAYS:
        counts = way(chosen, experts)
        assert counts == [tokens * choices // experts] * experts, (way.__name__, tokens, experts, choices, counts)
    print(f"{tokens} tokens, {experts} experts: ok", flush=True)
