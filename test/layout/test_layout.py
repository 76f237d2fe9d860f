"""The tree keeps its shape: dependencies between the parts point one way, virtual_device stays pure, files are formatted."""
import pathlib
import re
import shutil
import subprocess
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PARTS = ["cli", "predictor", "trace_proto", "virtual_device", "driver_shim"]

# part -> what its files may include. predictor/core is a part of its own: the dependency-free core that the shim links, too.
ALLOWED = {
    "cli": {"cli", "predictor", "predictor/core", "trace_proto", "virtual_device"},
    "predictor": {"predictor", "predictor/core", "trace_proto", "virtual_device"},
    "predictor/core": {"predictor/core", "virtual_device"},
    "trace_proto": {"trace_proto", "predictor/core"},
    "virtual_device": {"virtual_device"},
    "driver_shim": {"driver_shim", "virtual_device", "trace_proto", "predictor/core"},
}
# Single headers that cross an edge: the vocabulary of operations and of counted work, the device profile, how many blocks it holds at a time.
ONLY_HEADERS = {
    ("trace_proto", "predictor/core"): {"predictor/core/operation.h"},
    ("predictor/core", "virtual_device"): {"virtual_device/profile.h", "virtual_device/kernel_work.h", "virtual_device/occupancy.h"},
}
# The traced process must not load what only readers need.
SHIM_TRACE_HEADERS = {"trace_proto/writer.h", "trace_proto/encoder.h", "trace_proto/maya_trace_fields.h", "trace_proto/clock.h"}


def part_of(path):
    return "predictor/core" if str(path).startswith("predictor/core/") else str(path).split("/")[0]


def sources():
    for part in PARTS:
        for path in sorted((SOURCE / part).rglob("*")):
            if path.suffix in (".h", ".cc", ".c"):
                yield path.relative_to(SOURCE), path.read_text()


class Layout(unittest.TestCase):
    def test_top_level(self):
        tracked = subprocess.run(["git", "-C", SOURCE, "ls-files"], capture_output=True, text=True)
        if tracked.returncode != 0:
            self.skipTest("not a git checkout")
        top = {line.split("/")[0] for line in tracked.stdout.splitlines()}
        self.assertLessEqual({entry for entry in top if not entry.startswith(".")},
                             {"CMakeLists.txt", "CMakePresets.json", "README.md", "bench", "cli", "driver_shim", "predictor", "test", "third_party",
                              "trace_proto", "virtual_device"})

    def test_dependencies_point_one_way(self):
        for path, text in sources():
            part = part_of(path)
            for header in re.findall(r'^#include "([^"]+)"', text, re.M):
                target = part_of(header)
                if target not in ALLOWED:
                    continue  # generated or system header in quotes
                with self.subTest(file=str(path), header=header):
                    self.assertIn(target, ALLOWED[part])
                    if (part, target) in ONLY_HEADERS:
                        self.assertIn(header, ONLY_HEADERS[part, target])
                    if part == "driver_shim" and target == "trace_proto":
                        self.assertIn(header, SHIM_TRACE_HEADERS)

    def test_virtual_device_is_pure(self):
        banned = re.compile(r"#include <(cuda\w*|cudnn\w*|nccl|nvml|fstream|filesystem|chrono|ctime|time|sys/time|fcntl|sys/stat)(\.h)?>|\b(getenv|clock_gettime|fopen)\(")
        for path, text in sources():
            if part_of(path) == "virtual_device":
                with self.subTest(file=str(path)):
                    self.assertIsNone(banned.search(text))

    def test_no_left_overs(self):
        for path, text in sources():
            with self.subTest(file=str(path)):
                self.assertNotRegex(text, r"\b(TODO|FIXME|XXX)\b")
                self.assertLess(text.count("\n"), 800)

    @unittest.skipUnless(shutil.which("clang-format-14") or shutil.which("clang-format"), "clang-format is not installed")
    def test_formatted(self):
        tool = shutil.which("clang-format-14") or shutil.which("clang-format")
        if " 14." not in subprocess.run([tool, "--version"], capture_output=True, text=True).stdout:
            self.skipTest("another version of clang-format formats differently; Debian 12 has 14")
        files = [path for part in [*PARTS, "test", "bench"] for suffix in ("*.h", "*.cc") for path in (SOURCE / part).rglob(suffix)]
        done = subprocess.run([tool, "--dry-run", "--Werror", *map(str, files)], capture_output=True, text=True, cwd=SOURCE)
        self.assertEqual(done.returncode, 0, done.stderr[:2000])


if __name__ == "__main__":
    unittest.main(verbosity=2)
