"""nvidia-smi and NVML over emulated devices: what scripts ask for, and programs seen from other processes.

Names, units and exit statuses are those of NVIDIA's nvidia-smi manual page; figures of an H100 are those that public outputs show.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap
import unittest

from harness import BIN, LIB, EndToEnd, python

# Holds 1 GiB of device 0 and keeps it busy (argument: times to fill it) or idle, then waits to be told to end.
HOLDER = textwrap.dedent("""
    import ctypes, sys, time
    cuda = ctypes.CDLL("libcuda.so.1")
    context, address = ctypes.c_void_p(), ctypes.c_uint64()
    for status in (cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context),
                   cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1 << 30))):
        assert status == 0, status
    print("ready", flush=True)
    for _ in range(int(sys.argv[1])):
        assert cuda.cuMemsetD8_v2(address, 0, ctypes.c_size_t(1 << 30)) == 0
    cuda.cuCtxSynchronize()
    print("done", flush=True)
    sys.stdin.readline()
""")


def environment(**more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("MAYA_") and k not in ("LD_AUDIT", "LD_LIBRARY_PATH")}
    # Other emulated programs of this user may be running: a run id of our own keeps them out.
    return {**kept, "MAYA_TRACE": "0", "MAYA_RUN_ID": f"test-{os.getpid()}", **more}


def smi(*arguments, **more):
    return subprocess.run([BIN / "nvidia-smi", *arguments], env=environment(**more), capture_output=True, text=True, timeout=60)


class NvidiaSmi(EndToEnd):
    def start(self, fills, inside_maya_run=False, **more):
        program = self.scratch / "holder.py"
        program.write_text(HOLDER)
        command = [sys.executable, program, str(fills)]
        if inside_maya_run:
            command = [BIN / "maya-run", "--no-trace", "--", *command]
        process = subprocess.Popen([str(c) for c in command], env=environment(LD_LIBRARY_PATH=str(LIB), **more), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.assertEqual(process.stdout.readline(), "done\n")
        return process

    def test_device_that_a_program_sees(self):
        """Device 0 of a program with CUDA_VISIBLE_DEVICES=2 is device 2 of the machine."""
        self.start(0, MAYA_DEVICES="4", CUDA_VISIBLE_DEVICES="2")
        used = smi("--query-gpu=memory.used", "--format=csv,noheader,nounits", MAYA_DEVICES="4").stdout.split()
        self.assertEqual([int(one) > 1024 for one in used], [False, False, True, False])

    def test_query_of_an_idle_h100(self):
        run = smi("--query-gpu=index,name,memory.total,memory.used,utilization.gpu,power.limit,clocks.max.memory,compute_cap,fan.speed",
                  "--format=csv")
        self.assertEqual(run.returncode, 0, run.stderr)
        header, line = run.stdout.splitlines()
        self.assertEqual(header, "index, name, memory.total [MiB], memory.used [MiB], utilization.gpu [%], power.limit [W], "
                                 "clocks.max.memory [MHz], compute_cap, fan.speed [%]")
        self.assertEqual(line, "0, NVIDIA H100 80GB HBM3, 81559 MiB, 0 MiB, 0 %, 700.00 W, 2619 MHz, 9.0, [N/A]")
        plain = smi("--query-gpu=memory.total,power.limit", "--format=csv,noheader,nounits", MAYA_DEVICES="2", MAYA_DEVICE="a100-sxm-80")
        self.assertEqual(plain.stdout.splitlines(), ["81920, 400.00"] * 2, plain.stderr)

    def test_list_and_choice_of_devices(self):
        listed = smi("-L", MAYA_DEVICES="3").stdout.splitlines()
        self.assertEqual(len(listed), 3)
        uuids = [re.fullmatch(r"GPU \d: NVIDIA H100 80GB HBM3 \(UUID: (GPU-[0-9a-f-]{36})\)", line)[1] for line in listed]
        chosen = smi("-i", f"{uuids[2]},0", "--query-gpu=index,uuid", "--format=csv,noheader", MAYA_DEVICES="3")
        self.assertEqual(chosen.stdout.splitlines(), [f"2, {uuids[2]}", f"0, {uuids[0]}"])

    def test_table_is_rectangular(self):
        self.start(0)
        table = smi(MAYA_DEVICES="2").stdout.splitlines()[1:]
        self.assertEqual({len(line) for line in table if line.strip()}, {91})
        self.assertEqual(sum("NVIDIA H100 80GB HBM3" in line for line in table), 2)

    def test_topology_of_an_h100_board(self):
        matrix = smi("topo", "-m", MAYA_DEVICES="2").stdout
        self.assertIn("GPU0\t X \tNV18\t", matrix)  # 18 links: H100 SXM5 data sheet
        links = smi("nvlink", "-s").stdout
        self.assertEqual(links.count(" GB/s"), 18)

    def test_program_is_seen_while_it_lives(self):
        process = self.start(0)
        fields = "pid,process_name,used_memory"
        apps = smi(f"--query-compute-apps={fields}", "--format=csv,noheader,nounits").stdout.splitlines()
        mine = [line.split(", ") for line in apps if line.startswith(f"{process.pid}, ")]
        self.assertEqual(len(mine), 1, apps)
        self.assertEqual(pathlib.Path(mine[0][1]), pathlib.Path(sys.executable).resolve())
        self.assertGreaterEqual(int(mine[0][2]), 1024)
        self.assertLess(int(mine[0][2]), 2048)  # and its context
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertNotIn(str(process.pid), smi(f"--query-compute-apps={fields}", "--format=csv,noheader").stdout)

    def test_runs_of_maya_run_do_not_meet(self):
        other = self.start(0)
        inside = subprocess.run([BIN / "maya-run", "--no-trace", "--", "nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader"],
                                env=environment(MAYA_RUN_ID="another"), capture_output=True, text=True, timeout=60)
        self.assertEqual((inside.returncode, inside.stdout), (0, ""), inside.stderr)
        self.assertIn(str(other.pid), smi("--query-compute-apps=pid", "--format=csv,noheader", MAYA_RUN_ID="").stdout)

    def test_utilization_is_modelled_time(self):
        # A fill of 1 GiB takes 0.3 ms at 3.35 TB/s: 20,000 of them 6 s of the device's time, far above what the host needs for the calls.
        process = self.start(20000)
        usage = smi("--query-gpu=utilization.gpu,power.draw", "--format=csv,noheader,nounits").stdout
        process.kill()
        percent, watts = usage.split(", ")
        self.assertGreater(int(percent), 50)
        self.assertGreater(float(watts), 350)

    def test_bad_input(self):
        for arguments, status, words in ((["--query-gpu=nonsense", "--format=csv"], 2, "nonsense"), (["-i", "7"], 6, "no such device: 7"),
                                         (["--query-gpu=name"], 2, "--format"), (["--query-gpu=name", "--format=xml"], 2, "xml"),
                                         (["dmon"], 2, "dmon"), (["-f", "/no/such/folder/x"], 2, "/no/such/folder/x")):
            run = smi(*arguments)
            self.assertEqual(run.returncode, status, run)
            self.assertIn(words, run.stderr)
            self.assertEqual(run.stderr.count("\n"), 1, run.stderr)


class DeviceFiles(EndToEnd):
    """Programs that look for NVIDIA's device files before they look for a driver find as many as there are devices."""

    def ask(self, *command, devices="2"):
        return subprocess.run([BIN / "maya-run", "--no-trace", "--devices", devices, "--", *command], env=environment(), capture_output=True,
                              text=True, timeout=60)

    def test_python_finds_them(self):
        names = ["0", "1", "2", "01", "ctl", "-uvm", "x", ""]
        program = (f"import os, stat; print([os.path.exists('/dev/nvidia' + n) for n in {names}], os.path.exists('/dev/null'), "
                   "os.path.exists('/dev/no-such-file'), os.major(os.stat('/dev/nvidia1').st_rdev), stat.S_ISCHR(os.stat('/dev/nvidiactl').st_mode))")
        run = self.ask(sys.executable, "-c", program)
        # 195 is NVIDIA's in the kernel's list of device numbers.
        self.assertEqual(run.stdout, f"{[True, True, False, False, True, True, False, False]} True False 195 True\n", run.stderr)

    def test_shell_finds_them(self):
        run = self.ask("/bin/sh", "-c", "test -c /dev/nvidia0 && ls -d /dev/nvidia0 && ! test -e /dev/nvidia1 && echo end", devices="1")
        self.assertEqual(run.stdout, "/dev/nvidia0\nend\n", run.stderr)

    def test_only_under_maya_run(self):
        run = subprocess.run([sys.executable, "-c", "import os; print(os.path.exists('/dev/nvidia0'))"], env=environment(), capture_output=True, text=True)
        self.assertEqual(run.stdout, f"{os.path.exists('/dev/nvidia0')}\n")


class PyNvml(EndToEnd):
    def test_whole_api_answers(self):
        """Every query of nvidia-ml-py that needs a device alone gives a value or one of the two documented refusals; nothing crashes."""
        program = self.scratch / "sweep.py"
        program.write_text(textwrap.dedent("""
            import inspect, json, pynvml
            pynvml.nvmlInit()
            device = pynvml.nvmlDeviceGetHandleByIndex(0)
            result = {}
            for name, function in sorted(inspect.getmembers(pynvml, inspect.isfunction)):
                if not name.startswith("nvmlDeviceGet"):
                    continue
                needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
                if len(needed) != 1 or needed[0].name not in ("handle", "device"):
                    continue
                try:
                    function(device)
                    result[name] = "value"
                except pynvml.NVMLError as error:
                    result[name] = str(error)
                except Exception as error:
                    result[name] = repr(error)
            print(json.dumps(result))
        """))
        run = self.run_command([python("numba"), program], options=["--no-trace"], timeout=120)
        self.assertEqual(run.status, 0, run.explain())
        result = json.loads(run.out.splitlines()[-1])
        values = [name for name, answer in result.items() if answer == "value"]
        odd = {n: a for n, a in result.items() if a not in ("value", "Not Supported")}
        print(f"pynvml: {len(result)} queries of a device: {len(values)} give a value, {len(result) - len(values) - len(odd)} Not Supported, others: {odd}")
        self.assertEqual(odd, {})
        for name in ("MemoryInfo", "UtilizationRates", "PowerUsage", "ComputeRunningProcesses_v3", "PciInfo", "CudaComputeCapability"):
            self.assertIn(f"nvmlDeviceGet{name}", values)


if __name__ == "__main__":
    unittest.main(verbosity=2)
