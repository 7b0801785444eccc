"""The scripts in models/ state each problem without dlsched; they find the library's optima."""

import ast
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import dlsched
from dlsched import library
from dlsched.testing import strategies

MODELS = Path(__file__).parents[1] / "models"
PROBLEMS = dlsched.list_problems()
SLOW = (
    "sensitivity-small-08",
    "sensitivity-small-10",
    "utility-small-05",
    "utility-small-08",
    "utility-small-09",
    "utility-small-10",
)


def small(problem: str) -> list[str]:
    """Return the names of a problem's examples and small instances."""
    entries = library.index()
    kinds = ("paper", "small")
    return [n for n, e in entries.items() if e["problem"] == problem and e["kind"] in kinds]


def file_of(name: str) -> Path:
    """Return the file of a small instance."""
    return Path(library.root(), library.index()[name]["problem"], f"{name}.json")


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the scripts import what they share, as they do when they are run."""
    monkeypatch.syspath_prepend(MODELS)


def optimum(problem: str, name: str) -> dict[str, float]:
    """Return the levels that a problem's script finds for a file."""
    return levels_of(problem, import_module("levels").read(file_of(name)))


def levels_of(problem: str, data: dict[str, Any]) -> dict[str, float]:
    """Return the levels that a problem's script finds."""
    levels, module = import_module("levels"), import_module(problem)
    found: dict[str, float] = (
        module.run(data) if hasattr(module, "run") else levels.solve(module.build(data))
    )
    return found


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_script_and_the_exact_method_agree_on_drawn_instances(problem: str) -> None:
    """Also where there is no solution."""

    none_left_out = import_module("levels").given

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(getattr(strategies, problem)())
    def agree(instance: Any) -> None:
        data = json.loads(instance.model_dump_json(), object_pairs_hook=none_left_out)
        exact = dlsched.solve(instance)
        if exact.objective is None:
            with pytest.raises(RuntimeError):
                levels_of(problem, data)
        else:
            expected = [*map(float, exact.objective)]
            assert [*levels_of(problem, data).values()] == pytest.approx(expected, 1e-6, 1e-6)

    agree()


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_script_finds_the_optima_of_the_library(problem: str) -> None:
    """Two statements of a problem, written apart, have the same optimum at every level."""
    for name in set(small(problem)) - {*SLOW}:
        best = library.best_objective(library.index()[name]["sha256"])
        assert best is not None
        assert [*optimum(problem, name).values()] == pytest.approx(
            [*map(float, best)], rel=1e-6, abs=1e-6
        ), name


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize("weights", [[], [0]])
def test_what_costs_nothing_has_its_limits_all_the_same(weights: list[int]) -> None:
    """Two of three servers can be returned without jobs that count, and four cannot."""
    jobs = [{"id": "j", "weight": w, "workers": [{"server": "s1", "gpus": 1}]} for w in weights]
    data = {"servers": [{"id": f"s{i}"} for i in range(3)], "jobs": jobs}
    assert levels_of("reclaiming", data | {"demand": 2}) == {"preempted": 0, "collateral": 0}
    with pytest.raises(RuntimeError):
        levels_of("reclaiming", data | {"demand": 4})


@pytest.mark.usefixtures("models")
def test_small_units_are_not_within_tolerances() -> None:
    """CPUs and throughput in units of 1e9: a job has its share, two fit on a server, not three."""
    axes = {"cpus": [1e-9, 2e-9], "memory": [1, 2]}
    profile = {"gpus": 2, **axes, "throughput": [[0, 0], [5e-10, 7.5e-10]]}
    servers = {"count": 1, "gpus": 4, "cpus": 8e-9, "memory": 8}
    data: dict[str, Any] = {"servers": servers, "profiles": {"p": profile}}
    jobs = [{"id": name, "profile": "p"} for name in "abc"]
    found = levels_of("sensitivity", data | {"jobs": jobs[:2]})
    assert found["throughput"] == pytest.approx(1.5e-9, rel=1e-6)
    with pytest.raises(RuntimeError):
        levels_of("sensitivity", data | {"jobs": jobs})


def test_a_script_prints_the_optimum_of_a_file() -> None:
    """It takes an instance's file, and refuses what has no solution."""
    run = [sys.executable, str(MODELS / "reclaiming.py")]
    done = subprocess.run(
        [*run, str(file_of("lyra-fig5"))], capture_output=True, text=True, check=False
    )
    assert done.stdout == "preempted=1\ncollateral=0\n"
    failed = subprocess.run([*run, "absent.json"], capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert "absent.json" in failed.stderr


@pytest.mark.parametrize("file", sorted(MODELS.glob("*.py")), ids=lambda file: file.stem)
def test_a_script_imports_nothing_of_the_library(file: Path) -> None:
    """Whoever brings a solver of their own needs Pyomo and this folder."""
    modules = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add((node.module or "").partition(".")[0])
    allowed = {*sys.stdlib_module_names, "pyomo", *(f.stem for f in MODELS.glob("*.py"))}
    assert modules <= allowed
