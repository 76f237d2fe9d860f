"""When a golden value was recorded, and with which PyTorch, from the history of Megatron-LM's own repository."""
import functools
import json
import os
import re
import subprocess

# PyTorch in NVIDIA's images nvcr.io/nvidia/pytorch (their release notes, "contents of the container"): a development build of this version.
# 26.02 and later continue the row and were not looked up.
IMAGES = {"24.01": "2.2", "24.10": "2.5", "25.03": "2.7", "25.05": "2.8", "25.06": "2.8", "25.09": "2.9", "25.11": "2.10", "26.02": "2.11",
          "26.04": "2.12", "26.06": "2.13"}
METRICS = ("mem-allocated-bytes", "mem-max-allocated-bytes")


def _git(megatron, *arguments):
    return subprocess.run(["git", "-C", megatron, *arguments], text=True, capture_output=True).stdout


def _memory(text):
    """First and last value of both metrics."""
    try:
        found = json.loads(text)
        values = [list(found[metric]["values"].values()) for metric in METRICS]
    except (ValueError, KeyError, AttributeError):
        return None
    return [(one[0], one[-1]) for one in values]


def _image(megatron, commit, kind):
    text = "\n".join(_git(megatron, "grep", "-h", "-E", "BASE_IMAGE: .*pytorch:", commit, "--", ".gitlab").splitlines())
    versions = sorted(set(re.findall(r"pytorch:(\d\d\.\d\d)", text)))  # the older one is that of the long-term line
    return versions and versions[0 if kind == "lts" else -1]


def recorded(megatron, case, software):
    """(commit, date, image, PyTorch) since when the golden values of memory have been what they are; None where the history does not tell."""
    path = f"tests/functional_tests/test_cases/{case}/golden_values_{software}.json"
    now = since = commit = None
    for line in _git(megatron, "log", "--follow", "--name-only", "--format=commit %h %cs", "--", path).splitlines():
        if line.startswith("commit "):
            commit = line.split()[1:]
        elif line:
            memory = _memory(_git(megatron, "show", f"{commit[0]}:{line}"))
            now = now or memory
            if memory != now:
                break
            since = commit
    if now is None:
        return None
    image = _image(megatron, since[0], software.split("_")[0])
    return since[0], since[1], image, IMAGES.get(image, "?")


class History:
    """recorded() for rows of the table; asks the repository once and keeps the answers in `folder`."""

    def __init__(self, megatron, folder):
        self.megatron, self.path = megatron, os.path.join(folder, "recorded.json")
        try:
            with open(self.path) as file:
                self.known = json.load(file)
        except (OSError, ValueError):
            self.known = {}

    def of(self, row):
        key = f"{row['case']} {row['software']}"
        if key not in self.known:
            self.known[key] = recorded(self.megatron, row["case"], row["software"])
            with open(self.path + ".new", "w") as file:
                json.dump(self.known, file)
            os.replace(self.path + ".new", self.path)
        return self.known[key]


@functools.lru_cache(maxsize=None)
def head_of(megatron):
    return _git(megatron, "rev-parse", "--short=9", "HEAD").strip()


@functools.lru_cache(maxsize=None)
def date_of(megatron):
    return _git(megatron, "show", "-s", "--format=%cs", "HEAD").strip()


def checkout_at(megatron, commit, folder):
    """A checkout of `commit` in `folder`, made when it is not there."""
    path = os.path.join(folder, f"megatron-{commit}")
    if not os.path.exists(path):
        subprocess.run(["git", "-C", megatron, "worktree", "add", "--force", "--detach", path, commit], check=True, capture_output=True)
    return path
