"""Megatron-LM's golden runs: which ranks run, what is substituted, what a sweep repeats, and copies of a process. Needs neither data nor GPU libraries."""
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest

FOLDER = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "accuracy", "megatron"))
sys.path.insert(0, FOLDER)
import recorded  # noqa: E402
import run  # noqa: E402


class Cases(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.options = types.SimpleNamespace(ranks="last", keep=scratch.name, iterations=3, torch=(2, 11), flash="", memory_only=True, sweep=scratch.name)

    def case(self, args, name="gpt/one", megatron="/nowhere/megatron"):
        row = {"case": name, "gpu": "H100 (DGX)", "nodes": "2", "gpus_per_node": "4", "env": "", "args": "--train-iters 50 " + args}
        return run.Case(row, self.options, megatron, "--attention-backend flash" in args)

    def test_the_rank_that_runs_reads_the_data_of_the_last(self):
        self.assertEqual(self.case("--tensor-model-parallel-size 2").ranks, [6])
        self.assertEqual(self.case("").ranks, [7])
        # Rank 0 makes the index of the text, and is like all others where there are no stages.
        self.assertEqual(self.case("--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2", "bert/one").ranks, [0, 6])
        self.assertEqual(self.case("--tensor-model-parallel-size 4", "t5/one").ranks, [0])
        self.options.ranks = "stages"
        self.assertEqual(self.case("--pipeline-model-parallel-size 4").ranks, [0, 2, 4, 6])
        # Its shards begin elsewhere on every rank: no twins.
        self.assertEqual(self.case("--use-megatron-fsdp --tensor-model-parallel-size 2").ranks, list(range(8)))
        self.assertNotIn("--disable-gloo-process-groups", self.case("--use-megatron-fsdp").arguments())

    def test_substitutions(self):
        found = " ".join(self.case("--attention-backend flash --async-save --ckpt-format torch --use-distributed-optimizer").arguments())
        self.assertIn("--train-iters 3 --attention-backend flash --ckpt-format torch_dist", found)
        self.assertIn("--mock-data --tokenizer-type NullTokenizer --vocab-size 50256 --disable-gloo-process-groups", found)
        own = " ".join(self.case("--tokenizer-type NullTokenizer --vocab-size 131073 --ckpt-format torch").arguments())
        self.assertIn("--vocab-size 131073 --ckpt-format torch --mock-data", own)
        self.assertNotIn("50256", own)
        lists = self.case("--recompute-modules [layernorm moe_act] --moe-layer-freq [1,0]").arguments()
        self.assertEqual(lists[lists.index("--recompute-modules") + 1 : lists.index("--moe-layer-freq") + 2], ["layernorm", "moe_act", "--moe-layer-freq", "[1,0]"])
        files = self.case("--fim-data --fim-rate 0.5 --bf16 --tp-comm-overlap-cfg tests/functional_tests/a.yaml").arguments()
        self.assertEqual(files[2:5], ["--bf16", "--tp-comm-overlap-cfg", "/nowhere/megatron/tests/functional_tests/a.yaml"])
        self.options.ranks, self.options.flash = "all", "2.7"
        whole = " ".join(self.case("--attention-backend flash").arguments())
        self.assertIn("--attention-backend flash", whole)
        self.assertNotIn("gloo", whole)

    def test_a_folder_without_a_checkpoint_is_looked_into(self):
        # As NVIDIA's runner does; with --ckpt-format fsdp_dtensor the optimizer's state is made before it is found to be empty.
        found = self.case("--use-megatron-fsdp --ckpt-format fsdp_dtensor").arguments()
        self.assertEqual(found[found.index("--load") + 1], "checkpoints")

    def test_attention_is_what_transformer_engine_chose(self):
        def takes(args="", gpu="A100 (DGX)", env="NVTE_ALLOW_NONDETERMINISTIC_ALGO=0", image="25.09"):
            return run.takes_flash({"args": args, "gpu": gpu, "env": env}, ["abc", "2026-01-01", image, "2.9"])

        self.assertTrue(takes())
        self.assertFalse(takes(gpu="H100 (DGX)"))
        self.assertFalse(takes(image="24.01"))
        self.assertTrue(takes(image="24.01", env="NVTE_ALLOW_NONDETERMINISTIC_ALGO=1"))
        self.assertFalse(takes("--attention-backend unfused"))
        self.assertFalse(takes("--transformer-impl local"))
        self.assertTrue(takes("--attention-backend flash", gpu="H100 (DGX)", image="24.01"))
        # Runs with either are kept apart.
        self.assertNotEqual(self.case("--attention-backend flash").folder, self.case("").folder)

    def test_options_that_a_checkout_does_not_know_are_left_out(self):
        checkout = os.path.join(self.options.keep, "checkout")
        os.makedirs(checkout)
        with open(os.path.join(checkout, "arguments.py"), "w") as file:
            file.write('group.add_argument("--train-iters")\ngroup.add_argument("--exit-interval")\nclass Model:\n    bias_gelu: bool = True\n')
        for command in (["init", "-q"], ["add", "."]):
            subprocess.run(["git", "-C", checkout, *command], check=True)
        found = self.case("--younger 7 [1 2] --no-bias-gelu --no-younger", megatron=checkout).arguments()
        self.assertEqual(found[:3], ["--train-iters", "3", "--no-bias-gelu"])
        self.assertFalse([argument for argument in found if "younger" in argument or argument in ("7", "[1", "1", "2")], found)

    def test_a_sweep_repeats_neither_what_ran_nor_what_failed(self):
        case, calls = self.case(""), []
        for result in (None, "RuntimeError: of its own"):
            case.run_now = lambda result=result: calls.append(result) or result
            os.makedirs(case.folder, exist_ok=True)
            self.assertEqual([case.run(), case.run()], [result, result])
            for name in os.listdir(case.folder):
                os.unlink(os.path.join(case.folder, name))
        self.assertEqual(calls, [None, "RuntimeError: of its own"])

    def test_history_is_asked_once(self):
        row, asked = {"case": "gpt/one", "software": "dev"}, []
        ask, recorded.recorded = recorded.recorded, lambda *of: asked.append(of) or ["abc", "2026-01-01", "26.02", "2.11"]
        self.addCleanup(setattr, recorded, "recorded", ask)
        for _ in range(2):
            self.assertEqual(recorded.History("/nowhere", self.options.keep).of(row)[3], "2.11")
        self.assertEqual(asked, [("/nowhere", "gpt/one", "dev")])


class Copies(unittest.TestCase):
    PROGRAM = "import json, os, sys; print(json.dumps([sys.argv[1:], os.getcwd(), os.environ.get('MINE'), os.getppid()])); sys.exit(int(sys.argv[1]))"

    def test_a_copy_has_the_callers_arguments_folder_variables_output_and_status(self):
        with tempfile.TemporaryDirectory() as scratch:
            program = os.path.join(scratch, "program.py")
            with open(program, "w") as file:
                file.write(self.PROGRAM)
            parents = set()
            for status, mine in ((0, "a"), (7, "b")):
                done = subprocess.run([sys.executable, os.path.join(FOLDER, "forked.py"), program, str(status), "--x"], cwd=scratch, capture_output=True,
                                      text=True, timeout=120, env={**os.environ, "TMPDIR": scratch, "MINE": mine, "FORKED_IDLE_SECONDS": "2"})
                self.assertEqual(done.returncode, status, done.stderr)
                arguments, folder, variable, parent = json.loads(done.stdout)
                self.assertEqual((arguments, folder, variable), ([str(status), "--x"], os.path.realpath(scratch), mine))
                parents.add(parent)
            self.assertEqual(len(parents), 1)  # both are copies of one process

    def test_what_starts_cuda_or_counts_devices_is_not_imported_before_the_copies(self):
        files = {
            "torch.py": "import os\nclass cuda:\n    touched_by = None\n    is_available = staticmethod(lambda: False)\n"
                        "    _is_in_bad_fork = staticmethod(lambda: cuda.touched_by not in (None, os.getpid()))\n",
            "megatron/__init__.py": "",
            "megatron/training.py": "import os, torch\ntorch.cuda.touched_by = os.getpid()\n",
            "megatron/core/__init__.py": "", "megatron/core/models/__init__.py": "", "megatron/core/models/gpt/__init__.py": "",
            "megatron/core/models/gpt/gpt_layer_specs.py": "",
            "program.py": "import sys, torch, json\nearly = [name in sys.modules for name in ('megatron.training', 'megatron.core.models.gpt.gpt_layer_specs')]\n"
                          "import megatron.training\nprint(json.dumps([*early, torch.cuda._is_in_bad_fork()]))\n"}
        with tempfile.TemporaryDirectory() as scratch:
            for name, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(scratch, name)), exist_ok=True)
                with open(os.path.join(scratch, name), "w") as file:
                    file.write(text)
            done = subprocess.run([sys.executable, os.path.join(FOLDER, "forked.py"), os.path.join(scratch, "program.py")], cwd=scratch, capture_output=True,
                                  text=True, timeout=120, env={**os.environ, "PYTHONPATH": scratch, "TMPDIR": scratch, "FORKED_IDLE_SECONDS": "2"})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout), [False, True, False])

    def test_copies_run_beside_each_other(self):
        meet = "import os, sys, time\nopen(sys.argv[1], 'w').close()\nfor _ in range(600):\n    if os.path.exists(sys.argv[2]): sys.exit(0)\n    time.sleep(0.1)\nsys.exit(1)"
        with tempfile.TemporaryDirectory() as scratch:
            program = os.path.join(scratch, "program.py")
            with open(program, "w") as file:
                file.write(meet)
            environment = {**os.environ, "TMPDIR": scratch, "FORKED_IDLE_SECONDS": "2"}
            both = [subprocess.Popen([sys.executable, os.path.join(FOLDER, "forked.py"), program, *names], cwd=scratch, env=environment) for names in ("ab", "ba")]
            self.assertEqual([one.wait(timeout=120) for one in both], [0, 0])
            servers = [name for name in os.listdir(scratch) if name.endswith(".log")]
            self.assertEqual(len(servers), 1)


if __name__ == "__main__":
    unittest.main()
