"""Megatron-core's GPT with its own schedules, DDP and optimizer: tensor, sequence, pipeline (virtual stages), expert and data parallel."""
import torch
import torch.distributed as dist
from megatron.core import parallel_state, tensor_parallel
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.transformer import TransformerConfig
from megatron.core.transformer.moe import moe_utils
from megatron.core.transformer.transformer_block import TransformerBlockSubmodules, get_num_layers_to_build

from common import RANK, WORLD, batch, finish, options, start

SEQUENCE, MICRO_BATCH, MICRO, VOCAB, STEPS = 64, 2, 4, 512, 2
a = options(tp=1, sp=False, pp=1, vp=1, ep=1, dropless=False, fused_router=False, distributed_optimizer=False, layers=4)
device = start(a, "nccl")
parallel_state.initialize_model_parallel(a.tp, a.pp, a.vp if a.vp > 1 else None, expert_model_parallel_size=a.ep)
tensor_parallel.model_parallel_cuda_manual_seed(0)

# What every group adds up: the ranks in it, known from Megatron's order tp, data, pp.
data_parallel = WORLD // (a.tp * a.pp)
inner, middle, outer = RANK % a.tp, RANK // a.tp % data_parallel, RANK // (a.tp * data_parallel)
number = lambda i, m, o: i + a.tp * (m + data_parallel * o)  # noqa: E731
for group, members in ((parallel_state.get_tensor_model_parallel_group(), [number(i, middle, outer) for i in range(a.tp)]),
                       (parallel_state.get_data_parallel_group(), [number(inner, m, outer) for m in range(data_parallel)]),
                       (parallel_state.get_pipeline_model_parallel_group(), [number(inner, middle, o) for o in range(a.pp)])):
    total = torch.tensor([float(RANK)], device=device)
    dist.all_reduce(total, group=group)
    assert total.item() == sum(members), (total, members)

moe = {}
if a.ep > 1:
    if not hasattr(moe_utils, "te_general_gemm"):
        moe_utils.te_general_gemm = None  # 0.16.1 forgets this name where Transformer Engine is not installed
    moe = dict(num_moe_experts=2 * a.ep, moe_router_topk=2, moe_token_dispatcher_type="alltoall", moe_router_load_balancing_type="aux_loss", moe_aux_loss_coeff=0.01)
    if a.dropless:  # every expert gets what the router gives it: run with --inject routing=balanced
        moe |= dict(moe_grouped_gemm=False, moe_router_fusion=a.fused_router)
    else:  # padded to capacity: sizes do not depend on what the router computes
        moe |= dict(moe_expert_capacity_factor=1.0, moe_pad_expert_input_to_capacity=True)
config = TransformerConfig(num_layers=a.layers, hidden_size=128, num_attention_heads=4, ffn_hidden_size=512, tensor_model_parallel_size=a.tp,
                           pipeline_model_parallel_size=a.pp, virtual_pipeline_model_parallel_size=a.vp if a.vp > 1 else None, sequence_parallel=a.sp,
                           expert_model_parallel_size=a.ep, bf16=True, params_dtype=torch.bfloat16, pipeline_dtype=torch.bfloat16, hidden_dropout=0.0,
                           attention_dropout=0.0, add_bias_linear=False, gradient_accumulation_fusion=False, **moe)


class Norm(torch.nn.LayerNorm):
    """Megatron's own norm for sequence parallelism is Apex's or Transformer Engine's; this one marks its parameters as theirs do."""

    def __init__(self, config, hidden_size, eps=1e-5):
        super().__init__(hidden_size, eps)
        for parameter in self.parameters():
            parameter.sequence_parallel = config.sequence_parallel


def layers(stage):
    layer = get_gpt_layer_local_spec(num_experts=moe.get("num_moe_experts"))
    layer.submodules.input_layernorm = layer.submodules.pre_mlp_layernorm = Norm
    return TransformerBlockSubmodules([layer] * get_num_layers_to_build(config, stage), Norm)


chunks = []
for stage in range(a.vp):
    virtual = stage if a.vp > 1 else None
    at = {} if virtual is None else dict(ignore_virtual=False, vp_stage=stage)
    model = GPTModel(config, layers(virtual), VOCAB, SEQUENCE,
                     pre_process=parallel_state.is_pipeline_first_stage(**at), post_process=parallel_state.is_pipeline_last_stage(**at),
                     vp_stage=virtual)
    chunks.append(DistributedDataParallel(config, DistributedDataParallelConfig(use_distributed_optimizer=a.distributed_optimizer), model.to(device).bfloat16()))
optimizer = get_megatron_optimizer(OptimizerConfig(optimizer="adam", lr=1e-4, bf16=True, params_dtype=torch.bfloat16,
                                                   use_distributed_optimizer=a.distributed_optimizer), chunks)
config.finalize_model_grads_func = finalize_model_grads
config.grad_scale_func = optimizer.scale_loss


def batches():
    while True:
        yield batch(device, MICRO_BATCH, SEQUENCE, VOCAB)


def forward_step(data, model):
    inputs, targets = next(data)
    positions = torch.arange(SEQUENCE, device=device).expand(MICRO_BATCH, -1)
    mask = torch.ones(1, 1, SEQUENCE, SEQUENCE, dtype=torch.bool, device=device).triu(1)
    return model(inputs, positions, mask, labels=targets), lambda losses: (losses.float().mean(), {"loss": losses.detach().float().mean()})


run = get_forward_backward_func()
data = [batches() for _ in chunks]
for step in range(STEPS):
    for chunk in chunks:
        chunk.zero_grad_buffer()
    optimizer.zero_grad()
    losses = run(forward_step_func=forward_step, data_iterator=data if a.vp > 1 else data[0], model=chunks if a.vp > 1 else chunks[0],
                 num_microbatches=MICRO, seq_length=SEQUENCE, micro_batch_size=MICRO_BATCH, forward_only=False)
    assert len(losses) == (MICRO if parallel_state.is_pipeline_last_stage(ignore_virtual=True) else 0), losses
    updated, norm, _ = optimizer.step()
    assert updated
parallel_state.destroy_model_parallel()
finish("megatron")
