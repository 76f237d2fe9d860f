"""Rows of published steps and the arithmetic of their scores, on small inputs whose results are computed by hand."""
import math
import os
import sys
import tempfile
import unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "bench", "accuracy", "steps"))
import rows  # noqa: E402
import run  # noqa: E402
import scoring  # noqa: E402
import worlds  # noqa: E402

HEADER = ",".join(rows.COLUMNS)


def read(*lines):
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write("\n".join((HEADER,) + lines) + "\n")
        file.flush()
        return rows.read(file.name)


def neusight(gpu="NVIDIA H100 80GB HBM3", metric="fwd+bwd time", model="bert_large (HF)", value="235.983"):
    return f'sitar-lab/NeuSight x,{model},{gpu},1,"single GPU, eager; fwd+bwd",8,512,fp32,{metric},ms,{value},,,'


class Rows(unittest.TestCase):
    def test_devices(self):
        for gpu, device in [("NVIDIA A100-PCIE-40GB", "a100-pcie-40"), ("NVIDIA A100 80GB PCIe", "a100-pcie-80"),
                            ("A100-SXM4-40GB", "a100-sxm-40"), ("A100-80GB", "a100-sxm-80"), ("A100 80GB SXM4", "a100-sxm-80"),
                            ("NVIDIA H100 80GB HBM3", "h100-sxm"), ("LambdaCloud 1x H100 80GB PCIe", "h100-pcie"),
                            ("LambdaBM_ENG04_1xH200_140GB_SXM_h200_v2", "h200-sxm"), ("NVIDIA L40S", "l40s"),
                            ("LambdaCloud 1x B200 192GB SXM5", "b200-sxm"), ("LambdaCloud 1x GH200 96GB", ""),
                            ("Tesla V100-PCIE-32GB", ""), ("NVIDIA L4", "")]:
            self.assertEqual(rows.device_of(gpu), device, gpu)

    def test_time_as_published(self):
        (row,) = read(neusight())
        self.assertEqual((row.reason, row.device, row.measured_ms), ("", "h100-sxm", 235.983))
        self.assertEqual(row.arguments, "--model bert_large --batch 8 --seq 512 --mode train".split())

    def test_throughput_becomes_time(self):
        # 4 sequences of 4,096 tokens at 4,096 tokens a second: 4 s.
        (row,) = read('foundation-model-stack/fms-acceleration scripts/benchmarks/refs/a.csv,mistralai/Mistral-7B-v0.1,A100-80GB,1,'
                      '"HF SFTTrainer; framework none; single GPU; peft lora r=16.0 targets q_proj v_proj; x",per-device 4,'
                      '4094.5,bfloat16,train_tokens_per_second,tokens/s/GPU,4096,24.9,,')
        self.assertEqual(row.reason, "")
        self.assertAlmostEqual(row.measured_ms, 4000.0)
        self.assertEqual(row.arguments[row.arguments.index("--lora") + 1], "16")
        self.assertEqual(row.arguments[row.arguments.index("--targets") + 1], "q_proj,v_proj")
        self.assertEqual(row.peak_memory_gib, 24.9)

    def test_batch_by_memory(self):
        # The v2 rows of Lambda name no batch: 2,560 images on 140 GB; 3,079 images a second are 831.4 ms.
        (row,) = read("lambdal/deeplearning-benchmark x,NVIDIA DeepLearningExamples resnet50,LambdaBM_1xH200_140GB_SXM,1,DDP,"
                      "see scripts/config_v2,,fp16/AMP,throughput,img/s,3079.0,,,")
        self.assertAlmostEqual(row.measured_ms, 831.44, places=2)

    def test_every_single_gpu_row_has_a_verdict(self):
        read_rows = read(neusight(gpu="NVIDIA L4"), neusight(gpu="NVIDIA A100 80GB PCIe"), neusight(value="-3"),
                         neusight(model="switchxl4 (HF)"), "somebody/else x,m,NVIDIA L40S,1,,,,,,ms,5,,,",
                         "somebody/else x,m,NVIDIA L40S,8,,,,,,ms,5,,,")
        self.assertEqual([r.line for r in read_rows], [2, 3, 4, 5, 6])
        for row, part in zip(read_rows, ["no profile", "known bad", "no time", "Switch", "no program"]):
            self.assertIn(part, row.reason)
            self.assertEqual((row.program, row.arguments), ("", []))

    def test_missing_column_is_named(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(HEADER.replace("gpu,", "") + "\n")
            file.flush()
            with self.assertRaisesRegex(ValueError, "columns missing: gpu"):
                rows.read(file.name)


class Worlds(unittest.TestCase):
    """Rows of several GPUs: time of a step by hand, world, and a verdict for each."""

    @staticmethod
    def read(*lines):
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            file.write("\n".join((HEADER.replace("model,", "model,params,"),) + lines) + "\n")
            file.flush()
            return worlds.read(file.name)

    def test_foundry(self):
        # 6 sequences of 2,048 tokens twice: 24,576 tokens a GPU, at 4,096 tokens a second and GPU: 6 s.
        row = self.read('mosaicml/llm-foundry x,MPT-7b,6658859008,A100_80GB,8,"FSDP FULL_SHARD; act-ckpt False; cpu-offload False; MP mode '
                        'DEFAULT; microbatch 6 x grad-accum 2; flash attention; A100",global 96 seqs,2048,amp_bf16,throughput,tokens/s/GPU,4096,,,')[0]
        self.assertEqual((row.reason, row.device, row.ranks, row.cluster), ("", "a100-sxm-80", 8, "dgx-a100"))
        self.assertEqual(row.arguments, "--model 7b --batch 6 --seq 2048 --accumulate 2".split())
        self.assertAlmostEqual(row.measured_ms, 6000)

    def test_megatron(self):
        # 512 sequences over 16 data-parallel ranks in micro-batches of 8: 4 each.
        row = self.read('VIA-Research/vTrain data/ground_truth_multi.csv,GPT h3072 L30 a32,3.561e+09,A100 SXM cluster,64,"Megatron-style TP4 DP16 '
                        'PP1 1F1B, activation checkpointing",global 512 micro 8,2048,fp16,iteration time,ms,4634.4,,,')[0]
        self.assertEqual((row.reason, row.ranks, row.measured_ms), ("", 64, 4634.4))
        self.assertEqual(row.arguments, "--hidden 3072 --layers 30 --heads 32 --tensor 4 --batch 8 --seq 2048 --accumulate 4".split())
        self.assertEqual(os.path.basename(row.cluster), "vtrain.cluster")

    def test_megatron_on_one_node_keeps_its_activations(self):
        # 32 sequences over 2 data-parallel ranks in micro-batches of 8: 2 each.
        row = self.read('VIA-Research/vTrain data/ground_truth_single.csv,GPT h1024 L24 a16,3.555e+08,A100 SXM 1 node,2,"Megatron-style TP1 DP2 '
                        'PP1 1F1B, activation checkpointing",global 32 micro 8,1024,fp16,iteration time,ms,473.3,,,')[0]
        self.assertEqual(row.arguments, "--hidden 1024 --layers 24 --heads 16 --tensor 1 --batch 8 --seq 1024 --accumulate 2 --keep".split())
        self.assertEqual(row.cluster, "dgx-a100")

    def test_rows_that_run_in_the_memory_of_the_device(self):
        # A trace made in the device's own memory is none for other devices, nor for rows without a limit.
        qwen = self.read()[0]
        self.assertEqual((qwen.memory, qwen.device), ("", "h100-sxm"))
        traces = run.Traces("folder", "", "")
        limited = traces.folder_of(qwen)
        qwen.memory = "unlimited"
        self.assertNotEqual(limited, traces.folder_of(qwen))
        smaller = rows.Row(2, "a/b", "", "", "a100-sxm-40")
        self.assertEqual(run.traced_on(smaller), "a100-sxm-80")
        smaller.memory = ""
        self.assertEqual(run.traced_on(smaller), "a100-sxm-40")

    def test_throughput_of_all_gpus(self):
        # Lambda counts the examples of all 8 GPUs: 8 x 64 in 1,024 a second are 500 ms. The first of its 100 steps take 2.6 s more on 8 GPUs.
        row = self.read("lambdal/deeplearning-benchmark x,NVIDIA DeepLearningExamples bert_large_squad,,LambdaOD_8xH100_80GB_SXM5_v2,8,DDP,"
                        "see scripts/config_v2,,fp32 (TF32 on Ampere+),throughput,seq/s,1024,,,")[0]
        self.assertAlmostEqual(row.measured_ms, 500 - 2600 / 100)
        self.assertIn("--ddp", row.arguments)

    def test_lambda_times_images_without_a_beginning(self):
        # Only its question answering is timed from the first step on: 640 images in 1,280 a second are 500 ms.
        row = read("lambdal/deeplearning-benchmark x,NVIDIA DeepLearningExamples resnet50,LambdaOD_1xH100_80GB_SXM5_v2,1,DDP,"
                   "see scripts/config_v2,,fp32 (TF32 on Ampere+),throughput,images/s,1280,,,")[0]
        self.assertEqual((row.reason, row.program), ("", "vision.py"))
        self.assertAlmostEqual(row.measured_ms, 500)

    def test_torchtitan_counts_tokens_of_a_gpu(self):
        # 12 x 8,192 tokens in 8 tensor-parallel parts are 12,288 a GPU: at 4,096 a second 3 s. A sequence of 65,536 in two parts at 2,048: 16 s.
        rows = self.read("pytorch/torchtitan x,Llama3.1-8B,,H100 96GB,64,FSDP8 TP8 compile; per-op SAC,local 12,8192,float8 rowwise,throughput,tokens/s/GPU,4096,,,",
                         "pytorch/torchtitan x,Llama3.1-8B,,H100 96GB,8,FSDP4 CP2 compile; full AC,local 1,65536,float8,throughput,tokens/s/GPU,2048,84.2,,",
                         'pytorch/torchtitan x,Llama3.1-8B,,H100 96GB,8,FSDP8 eager; selective AC,"local 2, global 16",8192,bf16,throughput,tokens/s/GPU,8192,82.4,,')
        self.assertEqual([r.measured_ms for r in rows[:3]], [3000, 16000, 2000])
        arguments = [" ".join(map(str, r.arguments)) for r in rows[:3]]
        self.assertEqual(arguments[0], "--model 8b --batch 12 --seq 8192 --tensor 8 --selective --compile --float8 rowwise")
        self.assertEqual(arguments[1], "--model 8b --batch 1 --seq 65536 --context 2 --in-order --checkpoint --compile --float8 tensorwise")
        self.assertEqual(arguments[2], "--model 8b --batch 2 --seq 8192 --selective")
        self.assertEqual([r.living for r in rows[:3]], ["0", "1", "0"])

    def test_mixtral_is_routed_evenly(self):
        row = self.read("foundation-model-stack/fms-acceleration scripts/refs/a100_80gb.csv,TheBloke/Mixtral-8x7B-Instruct-v0.1-GPTQ,,A100-80GB,2,"
                        "HF SFTTrainer; framework accelerated-peft-autogptq-foak; FSDP; peft lora r=16.0 targets q_proj k_proj; gradient_checkpointing=True,"
                        "per-device 4,4096,fp16 amp,train_tokens_per_second (per GPU),tokens/s/GPU,2048,25,,")[0]
        self.assertEqual((row.reason, row.inject, row.measured_ms), ("", "routing=balanced", 8000))
        self.assertEqual(" ".join(map(str, row.arguments)), "--model mixtral_8x7b --batch 4 --seq 4096 --checkpoint --dtype float16 --amp float16 "
                         "--lora 16 --targets q_proj,k_proj --quantize gptq --foak rows --fsdp")

    def test_every_row_has_a_verdict(self):
        found = self.read("somebody/else x,m,,NVIDIA L40S,8,,,,,,ms,5,,,", "somebody/else x,m,,NVIDIA L40S,1,,,,,,ms,5,,,",
                          "karpathy/llm.c x,m,,8x A100-80GB SXM,8,,,,,,ms,5,,,",
                          'pytorch/torchtitan x,Llama3.1-8B,,H100 96GB,64,FSDP8 TP8 AsyncTP compile; per-op SAC,local 12,8192,bf16,throughput,'
                          "tokens/s/GPU,4809,,,")
        self.assertEqual([r.line for r in found], [2, 4, 5, 10002, 10003, 10004, 10005])
        for row, part in zip(found, ["no program", "C and CUDA", "AsyncTP"]):
            self.assertIn(part, row.reason)
            self.assertEqual((row.program, row.arguments), ("", []))
        self.assertEqual([r.measured_ms for r in found[3:]], [10790, 12400, 20800, 51060])
        self.assertEqual([r.expandable for r in found[3:]], [False, False, False, True])


class Flops(unittest.TestCase):
    def test_transformer(self):
        # BERT large: a block has 4 * 1024^2 + 2 * 1024 * 4096 = 12,582,912 weights; 24 blocks and 1024 * 30522 of the output.
        weights = 24 * 12582912 + 31254528
        attention = 4 * 24 * 1024 * 512 * 4096
        self.assertEqual(rows.transformer_flops("bert_large", 4096, 512, 1, causal=False), 2 * weights * 4096 + attention)
        self.assertEqual(rows.transformer_flops("bert_large", 4096, 512, 3, causal=False), 6 * weights * 4096 + 3 * attention)
        self.assertEqual(rows.transformer_flops("bert_large", 4096, 512, 2), 4 * weights * 4096 + 3 * attention / 2)


def row(device, measured_ms, flops, source="a/b"):
    return rows.Row(2, source, "", "", device, measured_ms=measured_ms, flops=flops, peak="bf16")


class Scoring(unittest.TestCase):
    PEAKS = {("p", "bf16"): 1e12, ("q", "bf16"): 2e12}

    def test_constant_efficiency_leaves_the_row_out(self):
        # On p: efficiencies 0.5, 0.2, 0.8 of 1 TFLOP/s.
        group = [row("p", 1000, 0.5e12), row("p", 1000, 0.2e12), row("p", 1000, 0.8e12)]
        times = scoring.fit_constant_efficiency(group, self.PEAKS)
        self.assertAlmostEqual(times[id(group[0])], 1e3 * 0.5 / math.sqrt(0.2 * 0.8))  # 1,250 ms
        self.assertAlmostEqual(times[id(group[1])], 1e3 * 0.2 / math.sqrt(0.5 * 0.8))

    def test_constant_efficiency_borrows_from_another_device(self):
        # The only row on q takes the efficiency 0.5 from p: 1e12 / (2e12 * 0.5) = 1 s. A row alone in its source has none.
        group = [row("p", 1000, 0.5e12), row("q", 700, 1e12), row("p", 100, 1e11, source="c/d")]
        times = scoring.fit_constant_efficiency(group, self.PEAKS)
        self.assertAlmostEqual(times[id(group[1])], 1000)
        self.assertNotIn(id(group[2]), times)

    def test_summary(self):
        scores = [scoring.Score(row("p", 100, 1), 105, 90, 110, baseline_ms=150), scoring.Score(row("p", 200, 1), 160, 150, 190)]
        figures = scoring.summary(scores)
        self.assertAlmostEqual(figures["mean_error"], (0.05 + 0.20) / 2)
        self.assertAlmostEqual(figures["bias"], (0.05 - 0.20) / 2)
        self.assertEqual((figures["within_10_percent"], figures["coverage"]), (0.5, 0.5))
        self.assertEqual(figures["within_12_percent"], 0.5)
        self.assertAlmostEqual(figures["baseline_mean_error"], 0.5)

    def test_host_share(self):
        score = scoring.Score(row("p", 1, 1), 10, 1, 1, parts_ms={"compute": 6, "host_bound": 3, "idle": 1})
        self.assertAlmostEqual(score.host_share, 0.4)


if __name__ == "__main__":
    unittest.main()
