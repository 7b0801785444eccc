"""Internal: all modules of loops; built or run as Python, they find the same."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dlsched
from calls import run
from dlsched.solvers.kernels import kernels

ROOT = Path(__file__).parents[2]
SOLVE = """
import json, sys, warnings
from contextlib import suppress
import dlsched
from dlsched.registry import problem
from dlsched.solvers.kernels import kernels

with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    found = {}
    for data in json.load(open(sys.argv[1])):
        inst = dlsched.load(data)
        name = inst.problem
        for method in problem(name).methods.values():
            if method.kind in ("heuristic", "baseline"):
                few = {"trials": 50} if "trials" in method.options else {}
                with suppress(dlsched.OptionError):  # a method for other instances
                    result = dlsched.solve(inst, method.name, seed=1, **few)
                    found[f"{name} {method.name}"] = [str(result.status), str(result.objective)]
slow = [str(w.message) for w in told if "not built" in str(w.message)]
print(json.dumps([found, slow, sum(kernels().values())]))
"""


def solved(folder: Path, instances: Path) -> tuple[dict[str, list[str]], list[str], int]:
    """Return what all heuristics find in a process of its own, its warnings, built modules."""
    ran = subprocess.run(
        [sys.executable, "-c", SOLVE, str(instances)],
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    found, slow, built = json.loads(ran.stdout)
    return found, slow, built


def test_all_are_built() -> None:
    """`make test` builds each module of loops, from the source as it is now."""
    for name, built in kernels().items():
        assert built, f"{name} is not built: make kernels"
        source = ROOT / "src" / Path(*name.split(".")).with_suffix(".py")
        (made, *_) = source.parent.glob(f"{source.stem}.cpython-{sys.version_info[0]}*.so")
        assert made.stat().st_mtime >= source.stat().st_mtime, f"{name} has changed: make kernels"


def test_python_finds_the_same(tmp_path: Path) -> None:
    """All heuristics find the same where nothing is built; one warning says that it is slow."""
    package = Path(dlsched.__file__).parent
    left_out = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(package, tmp_path / "dlsched", ignore=left_out)
    instances = [dlsched.load(f"{name}-small-03").to_data() for name in dlsched.list_problems()]
    (tmp_path / "instances.json").write_text(json.dumps(instances))
    here, quiet, built = solved(package.parent, tmp_path / "instances.json")
    there, (warning,), none = solved(tmp_path, tmp_path / "instances.json")
    assert (quiet, none) == ([], 0) and built == len(kernels())
    assert "many times slower" in warning
    assert there == here


@pytest.mark.slow
def test_an_installation_without_a_compiler(tmp_path: Path) -> None:
    """Where there is no compiler, nothing is built, and the wheel is one of Python alone."""
    tree = tmp_path / "tree"
    kept = shutil.ignore_patterns(".git", ".venv", "build", "*.so", "*.pyd", "results", "site")
    shutil.copytree(ROOT, tree, ignore=kept)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=tree, env=os.environ | {"CC": "false"}, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")


def test_doctor_counts_what_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command says how many modules Python runs, and what builds them."""
    monkeypatch.setattr("dlsched.cli.doctor.kernels", lambda: {"one": False, "two": True})
    said = " ".join(run("doctor").stdout.split())
    assert "1 of 2 modules not built, many times slower; a C compiler builds them" in said
