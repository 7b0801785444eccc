"""Files of rates; the optimum is that of all pairs; reports.txt has the definition."""

import json
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from all_pairs import AllPairs, optimum
from changed_documents import documents

import dlsched
from dlsched import InstanceError
from dlsched.problems.shares import Instance, from_rates, read_rates
from dlsched.testing import oracles, strategies
from drawing import drawn

INSTANCE: dict[str, Any] = documents("shares")["instance"]


def test_brute_force_has_two_models_beside_each_other() -> None:
    """On one GPU both make 3 + 2 iterations a second together, and 4 at most alone."""
    jobs = [{"id": "x", "model": "m"}, {"id": "z", "model": "o"}]
    instance = dlsched.load(
        INSTANCE | {"gpus": {"A": 1, "B": 0}, "objective": "total", "jobs": jobs}
    )
    assert oracles.shares(instance) == dlsched.solve(instance).objective == (5,)


NESTED = {
    "v100": {
        "('A', 1)": {"null": 4.0, "('B', 1)": [3.0, 2.0], "('A', 1)": [3.0, 2.0]},
        "('B', 1)": {"null": 3.0, "('A', 1)": [2.0, 3.0]},
        "A (scale factor 2)": {"null": 7.0, "('B', 1)": [1, 1]},
    },
    "k80": {"('A', 1)": {"null": 1.0000001, "('B', 1)": [1.0, 0.0]}, "('B', 1)": {"null": 0}},
}


def test_files_of_the_public_code(tmp_path: Path) -> None:
    """Rates alone by model and GPUs; pairs of one scale, both orders, none that cannot run."""
    path = tmp_path / "rates.json"
    path.write_text(json.dumps(NESTED))
    rates = read_rates(path)
    assert rates.alone["A", 1] == {"v100": 4, "k80": Fraction("1.0000001")}
    assert rates.alone["A", 2] == {"v100": 7}
    half = Fraction(5, 2)  # of a model beside itself, in turns
    assert rates.beside == {
        ("A", "B", 1, "v100"): (3, 2),
        ("B", "A", 1, "v100"): (2, 3),
        ("A", "A", 1, "v100"): (half, half),
    }
    jobs: dict[str, dict[str, Any]] = {"a": {"model": "A"}, "b": {"model": "B"}}
    made = from_rates(rates, {"v100": 1}, jobs)
    assert [pair.models for pair in made.pairs] == [("A x1", "B x1"), ("A x1", "A x1")]
    # Side by side B has 2 of 3, A 3 of 4 a second, and some time alone: 9 of 13 each.
    assert float(dlsched.solve(made).objective.value) == pytest.approx(9 / 13)


def test_flat_files(tmp_path: Path) -> None:
    """A list of rates alone."""
    row = {"job_type": "A", "scale_factor": 1, "iterations_per_second": {"v100": 4}}
    path = tmp_path / "alone.json"
    path.write_text(json.dumps([row, row | {"job_type": "B"}]))
    assert read_rates(path) == ({("A", 1): {"v100": 4}, ("B", 1): {"v100": 4}}, {})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1]", "is not an object"),
        ("nonsense", "is not JSON"),
        ('{"v100": {"A": {"null": -1}}}', "is negative"),
        ('{"v100": {"A": {"null": "fast"}}}', "is not a number"),
        ('{"v100": {"A": 3}}', "is no object of rates"),
        ('{"v100": {"A": {"null": 1, "B": [1]}}}', r"is not \[rate, rate of the other\]"),
        ('{"v100": {"A": {"null": 1, "B": [1, 1]}}}', "has no rates alone"),
    ],
)
def test_unusable_files_of_rates(tmp_path: Path, text: str, words: str) -> None:
    """The error names the file and what is wrong."""
    path = tmp_path / "rates.json"
    path.write_text(text)
    with pytest.raises(InstanceError, match=words) as caught:
        read_rates(path)
    assert str(path) in str(caught.value)


def test_jobs_without_rates_are_refused(tmp_path: Path) -> None:
    """The error names the job."""
    path = tmp_path / "rates.json"
    path.write_text(json.dumps(NESTED))
    with pytest.raises(InstanceError, match="no rates of 'C' on 1 GPUs"):
        from_rates(read_rates(path), {"v100": 1}, {"a": {"model": "C"}})


OBJECTIVES = ("max_min", "makespan", "finish_time", "total")


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("jobs", "gpus", "sharing"), [(3, 2, True), (12, 2, False), (14, 3, True)])
def test_optimum_of_all_pairs(objective: str, jobs: int, gpus: int, sharing: bool) -> None:
    """Proved optimal, with the same value as the program over pairs in cvxpy."""
    for seed in range(3):
        made = dlsched.generate(
            "shares", seed, jobs=jobs, gpus=gpus, models=4, objective=objective, sharing=sharing
        )
        result = dlsched.solve(made)
        assert result.status == "optimal"
        accuracy = 1e-6 if objective == "finish_time" else 1e-9  # that of an interior point
        assert float(result.objective.value) == pytest.approx(optimum(made), rel=accuracy)


def filled(instance: Instance) -> list[float]:
    """Return the jobs' values by water filling over all pairs, a job fixed at a time."""
    from scipy.optimize import linprog

    program = AllPairs(instance)
    weight = np.array([float(job.weight) for job in instance.jobs])
    worth = (program.scale / (weight * program.proportional))[:, None] * program.rate.toarray()
    limits = np.vstack([program.time.toarray(), program.used.toarray()])
    most = np.concatenate([np.ones(len(weight)), program.gpus])
    levels: dict[int, float] = {}

    def largest(raised: set[int]) -> float:
        """Return the greatest common value of some jobs, those with a level at that."""
        rows = [np.append(-worth[j], float(j in raised)) for j in range(len(weight))]
        sides = [0.0 if j in raised else -levels.get(j, level) for j in range(len(weight))]
        table = np.vstack([np.column_stack([limits, np.zeros(len(limits))]), *rows])
        cost = np.append(np.zeros(program.size), -1.0)
        answer = linprog(cost, A_ub=table, b_ub=np.concatenate([most, sides]))
        return float(-answer.fun)

    level = 0.0
    while len(levels) < len(weight):
        free = {j for j in range(len(weight)) if j not in levels}
        level = largest(free)
        found = {j: level * (1 - 1e-9) for j in free if largest({j}) < level * (1 + 1e-6)}
        levels |= found
    return sorted(levels.values())


BOUNDED = [*product(["milp", "lp"], OBJECTIVES), *product(["water_filling"], OBJECTIVES[:2])]


@pytest.mark.parametrize(("method", "objective"), BOUNDED)
def test_never_without_a_bound(method: str, objective: str) -> None:
    """Where a limit strikes before a program is solved, the bound is that of the GPUs together."""

    @drawn(30, strategies.shares(objective=objective))
    def holds(instance: Instance) -> None:
        (bound,) = dlsched.solve(instance, method, time_limit=1e-9).certified
        (best,) = oracles.shares(instance)
        assert bound is not None and bound.value >= best * (1 - Fraction(1, 10**14))

    holds()


@pytest.mark.parametrize("seed", range(4))
def test_water_filling_raises_each_value_in_turn(seed: int) -> None:
    """All values are those found by asking of each job whether it can have more."""
    made = dlsched.generate("shares", seed, jobs=7, gpus=3, models=3)
    result = dlsched.solve(made, "water_filling")
    assert result.status == "optimal"
    assert float(result.objective.value) == pytest.approx(
        float(dlsched.solve(made).objective.value)
    )
    speeds = dlsched.verify(made, result.solution).details
    alone = {m.id: m for m in made.models}
    total = sum(made.gpus.values())
    values = []
    for job in made.jobs:
        model = alone[job.model]
        fair = sum(
            Fraction(r) * made.gpus[k] for k, r in model.rates.items() if made.gpus[k] >= model.gpus
        )
        values.append(model.gpus * speeds[job.id] / float(fair / total))
    assert sorted(values) == pytest.approx(filled(made), rel=1e-6)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_equal_jobs_are_one_kind(objective: str) -> None:
    """A model's size is that of the kinds of jobs, not of the jobs."""

    def size(jobs: int) -> int:
        models: list[dict[str, Any]] = [{"id": "m", "rates": {"A": 2, "B": 1}}]
        pairs = [{"models": ("m", "m"), "type": "A", "rates": (1.5, 1.5)}]
        rows = [{"id": f"j{i}", "model": "m", "steps": 100, "elapsed": 5} for i in range(jobs)]
        head: dict[str, Any] = {"name": "equal", "objective": objective, "gpus": {"A": 2, "B": 1}}
        made = Instance(**head, models=models, pairs=pairs, jobs=rows)
        result = dlsched.solve(made)
        assert result.status == "optimal"
        assert float(result.objective.value) == pytest.approx(optimum(made), rel=1e-6)
        return len(list(dlsched.model(made).y)) + len(list(dlsched.model(made).z))

    assert size(5) == size(8) == 3
