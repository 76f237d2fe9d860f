"""Python imports this module at start-up, before the program (documentation of the `site` module).

maya-run puts its folder into PYTHONPATH of worlds whose ranks run alone. It hands on to the sitecustomize that would have been
imported without it, and has maya_world look at process groups once torch.distributed is imported. Nothing else changes.
"""
import importlib.machinery
import importlib.util
import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def _run_next_sitecustomize():
    """The sitecustomize of the user's environment, if there is one."""
    others = [folder for folder in sys.path if os.path.abspath(folder or os.curdir) != _FOLDER]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("MAYA_TWINS") == "1":
    import maya_world

    maya_world.watch()
_run_next_sitecustomize()
