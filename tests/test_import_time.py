"""``import dlsched`` is light: heavy libraries are imported when first needed."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ["pyomo", "highspy", "pandas", "matplotlib", "scipy", "hypothesis", "numba", "networkx"]
HEAVY += ["cvxpy", "rustworkx", "rich", "typer"]


def loaded(code: str) -> set[str]:
    """Return which heavy libraries a fresh interpreter holds after running some code."""
    report = f"{code}\nimport sys\nprint(*[m for m in {HEAVY} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_import_is_light() -> None:
    """Importing the package imports no solver, no modelling language and no table library."""
    assert loaded("import dlsched") == set()


def test_checking_needs_no_solver() -> None:
    """Loading and checking need neither a solver nor a modelling language."""
    data = {
        "dlsched": 1,
        "problem": "reclaiming",
        "name": "t",
        "demand": 0,
        "servers": [],
        "jobs": [],
    }
    solution = {"dlsched": 1, "problem": "reclaiming", "instance": "t", "returned": []}
    code = f"import dlsched; assert dlsched.verify({data}, {solution}).feasible"
    assert not loaded(code) & {"pyomo", "highspy", "pandas", "matplotlib", "hypothesis"}


def test_solver_libraries_are_preloaded() -> None:
    """Solving a model imports no other library than those that its method preloads."""
    code = """
import importlib, sys, dlsched
from dlsched.solvers.levels import SOLVER_LIBRARIES
instance = dlsched.generate("reclaiming", servers=4)
[importlib.import_module(name) for name in SOLVER_LIBRARIES]
before = set(sys.modules)
dlsched.solve(instance, "milp")
print(*sorted(set(sys.modules) - before))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = [name for name in run.stdout.split() if name.split(".")[0] != "dlsched"]
    assert imported == []
