"""The other everyday programs: values that a program may rely on, Hugging Face's Trainer, attention with masks."""
import pathlib
import unittest

from harness import EndToEnd, WAYS


class Programs(EndToEnd):
    def test_data_roundtrip(self):
        for way in WAYS:
            with self.subTest(way=way):
                run = self.run_program(way, "data_roundtrip.py")
                self.assertEqual(run.status, 0, run.explain())
                self.assertIn("roundtrip ok", run.out)

    def test_trainer(self):
        run = self.run_program("maya-run", "hf_trainer.py")
        self.assertEqual(run.status, 0, run.explain())
        self.assertIn("global_step=4", run.out)
        report = self.predict(run.trace_dir)
        self.assertGreater(report["step_time_ms"]["median"], 0)

    def test_attention_masks(self):
        run = self.run_program("maya-run", pathlib.Path(__file__).with_name("attention_masks_program.py"))
        self.assertEqual(run.status, 0, run.explain())
        self.assertIn("ok 72", run.out)
        self.assertEqual(self.predict(run.trace_dir)["provenance"]["unknown"], 0)

    def test_exit_status_is_the_programs_own(self):
        from harness import python
        run = self.run_command([python("lean"), "-c", "import torch; torch.zeros(4, device='cuda'); raise SystemExit(37)"])
        self.assertEqual(run.status, 37, run.explain())

    def test_import_makes_no_context_and_no_trace(self):
        from harness import python
        run = self.run_command([python("lean"), "-c", "import torch; print(torch.cuda.is_available(), torch.cuda.device_count())"], options=["--devices", "3"])
        self.assertEqual((run.status, run.out.split()), (0, ["True", "3"]), run.explain())
        self.assertEqual(run.traces, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
