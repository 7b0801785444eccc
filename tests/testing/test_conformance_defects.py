# ruff: noqa: E501 - planted code keeps its lines
"""`check_problem` finds planted defects; the problem is that of docs/add-a-problem.md.

Without a defect it passes: tests/test_seventh_problem.py.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from dlsched import registry
from dlsched.registry import layout, names, registered
from dlsched.testing import check_problem

PAGE = (Path(__file__).parents[2] / "docs" / "add-a-problem.md").read_text(encoding="utf-8")
FILES: dict[str, str] = dict(
    re.findall(r"^<!-- not run: file (\S+\.py) -->\n```\w+\n(.*?)^```", PAGE, re.M | re.S)
)
PACKAGE = "dlsched_admission"
SOLVE = "return solve_levels(instance, run, model)"
RELAX = "return relax_first_level(instance, run, model)"
GREEDY = """
    left, started = instance.gpus, []
    for job in instance.jobs:
        if job.gpus <= left and job.id != "n001":
            started.append(job.id)
            left -= job.gpus
    own = sum(job.weight for job in instance.jobs if job.id in started)
    from dlsched import Bound, Status
    bounds = [[Bound(own, "claimed", "milp")]]
    return Claim(solution={"started": started}, status=Status.OPTIMAL, bounds=bounds)
"""
DEFECTS: dict[str, tuple[str, str, str, str, str]] = {
    "no oracle": ("oracle", "def brute_force", "def enumerate_sets", "parts", "has no brute_force"),
    "the definition imports a picture": (
        "oracle", "from dlsched_admission.definition.check import check",
        "from dlsched_admission.definition.check import check\nfrom dlsched_admission.pictures import draw",
        "layers", "definition/oracle.py: imports dlsched_admission.pictures.draw",
    ),
    "no proof": ("exact", "Exact because", "Optimal, as", "methods", "no 'Exact because'"),
    "generator ignores the seed": (
        "generate", "    sizes, weights =", "    rng = np.random.default_rng(0)\n    sizes, weights =",
        "generator", "seeds 1 and 2 generate the same",
    ),
    "generator has no seed": (
        "generate", "    sizes, weights =", "    rng = np.random.default_rng()\n    sizes, weights =",
        "generator", "seed 1 generates two different",
    ),
    "a field is not written": (
        "schema", "weight: Amount = 1", "weight: Amount = Field(1, exclude=True)",
        "json", ".json loses something",
    ),
    "a derived array": (
        "schema", "    started: tuple[Id, ...]\n",
        "    started: tuple[Id, ...]\n\n    @schema.derived\n    def weights(self):\n        return np.ones(1)\n",
        "immutable", "these can be changed: Solution.weights",
    ),
    "label of another instance": (
        "heuristics", '{"started": started}', '{"started": started, "instance": "other"}',
        "labels", 'the solution is for "other"',
    ),
    "explain refuses what can be solved": (
        "check", '    return ""', '    return "too many jobs" if len(instance.jobs) > 2 else ""',
        "infeasible", "explain says 'too many jobs' of an instance that has a solution",
    ),
    "objective has another sense": ("model", "pyo.maximize", "pyo.minimize", "model_levels",
                                    "[('weight', 'min')]"),
    "model has one GPU less": ("model", "used, instance.gpus)", "used, instance.gpus - 1)",
                               "exact", "the optimum is"),
    "model excludes a solution": ("model", "used, instance.gpus)", "used, instance.gpus - 1)",
                                  "model_assign", "breaks gpus"),
    "model has another weight": ("model", "float(job.weight) *", "(1 + float(job.weight)) *",
                                 "model_assign", "checker finds"),
    "read finds too little": (
        "model", "return Solution(started=tuple(", "return Solution(started=() if instance.gpus > 4 else tuple(",
        "model_assign", "the checker finds 0",
    ),
    "heuristic takes too much": ("heuristics", "job.gpus <= left", "job.gpus <= left + 1",
                                 "heuristics", "densest_first: gpus at started"),
    "bound is too strong": (
        "bounds", RELAX, 'return Claim(status="no solution", bounds=[[Bound(0, "certified", "lp")]])',
        "bounds", "lp has the bounds",
    ),
    "result depends on names": ("exact", f"    {SOLVE}", GREEDY, "renaming", "milp finds weight"),
    "result depends on the order": ("exact", f"    {SOLVE}", GREEDY.replace('"n001"', '""'),
                                    "order", "milp finds weight"),
    "result differs from run to run": (
        "heuristics", '{"started": started}', '{"started": started[: CALLS.append(0) or len(CALLS) % 2]}',
        "deterministic", "['densest_first']",
    ),
    "a limit is called infeasible": (
        "exact", SOLVE, f'if run.stop_reason():\n        return Claim(status="infeasible")\n    {SOLVE}',
        "limits", "milp says infeasible",
    ),
    "a limit raises": (
        "exact", SOLVE, f'if run.stop_reason():\n        raise TimeoutError("stop")\n    {SOLVE}',
        "limits", "TimeoutError: stop",
    ),
    "the picture is not returned": ("draw", "    return ax", "    return None", "picture", "NoneType"),
}  # fmt: skip
"""By name: module, passage, what stands in its place, the check that fails, and its message."""

Install = Callable[[dict[str, str]], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unshrunk: None) -> Iterator[Install]:
    """Return a function that makes the package importable; examples are not shrunk."""
    monkeypatch.setattr(registered, "METHODS", dict(registered.METHODS))
    entry = EntryPoint("admission", f"{PACKAGE}:PROBLEM", registry.PROBLEMS_GROUP)
    found = {registry.PROBLEMS_GROUP: [entry], registry.METHODS_GROUP: []}
    monkeypatch.setattr(names, "entry_points", lambda group: found[group])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(files: dict[str, str]) -> None:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(text, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)

    yield write
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]
    registry.problem.cache_clear()
    registered.load_methods.cache_clear()


@pytest.mark.parametrize("defect", DEFECTS)
def test_defects_are_found(install: Install, defect: str) -> None:
    """The check fails, and its message names the defect."""
    module, passage, planted, name, message = DEFECTS[defect]
    file = next(f for f in FILES if f.endswith((f"/{module}.py", f"/{module}/__init__.py")))
    assert FILES[file].count(passage) == 1
    text = FILES[file].replace(passage, planted)
    if module == "bounds":
        text = text.replace("\nfrom dlsched", "\nfrom dlsched import Bound\nfrom dlsched", 1)
    if module == "schema":
        text = text.replace(
            "import model_validator", "import Field, model_validator\nimport numpy as np"
        )
    if "CALLS" in planted:
        text = text.replace("\n\n\n", "\n\nCALLS: list[int] = []\n\n\n", 1)
    install(FILES | {file: text})
    found = check_problem("admission", checks=[name])
    assert [finding.kind for finding in found.findings] == [name]
    assert message in found.findings[0].message


def test_a_package_without_folders_is_found(install: Install) -> None:
    """The same modules may all be in the package itself."""
    folder = rf"{PACKAGE}([./])(?:{'|'.join(layout.FOLDERS)})[./](?!__init__)"
    flat = {
        re.sub(folder, rf"{PACKAGE}\1", name).replace("/__init__.py", ".py")
        if name.count("/") > 1
        else name: re.sub(folder, rf"{PACKAGE}\1", text)
        for name, text in FILES.items()
    }
    assert f"{PACKAGE}/exact.py" in flat and f"{PACKAGE}/bounds.py" in flat
    install(flat)
    found = check_problem("admission", checks=["parts", "layers", "methods", "generator"])
    assert found.findings == []
