"""The grouping with the largest weighted sum of speeds: enumeration, the model, the program."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest

import dlsched
from dlsched.errors import OptionError
from dlsched.problems.interleaving.definition.schema import Instance
from dlsched.problems.interleaving.programs import weighted_speeds
from dlsched.problems.interleaving.programs.weighted_speeds import best_grouping
from dlsched.simulation import Cluster, simulate
from dlsched.simulation.engine.speeds import least_iteration_time
from dlsched.simulation.workload.workload import Workload

STAGES = ((4, 1, 0), (1, 3, 1), (5, 5, 1), (0, 0, 7), (2, 2, 2))


def drawn(seed: int) -> tuple[Instance, list[float]]:
    """Return up to seven jobs of few profiles on two sizes, a budget that binds, and weights."""
    rng = random.Random(seed)
    jobs = [
        {"id": f"j{i}", "gpus": rng.choice((1, 1, 2)), "stages": list(rng.choice(STAGES))}
        for i in range(rng.randint(1, 7))
    ]
    data = {"dlsched": 1, "problem": "interleaving", "name": "drawn", "grouping": "cover",
            "resources": ["storage", "gpu", "network"], "jobs": jobs}  # fmt: skip
    least = Instance.parse(data, "drawn").least_gpus
    instance = Instance.parse({**data, "gpu_budget": least + rng.randint(0, 3)}, "drawn")
    return instance, [rng.uniform(0.1, 3) for _ in jobs]


def partitions(jobs: Sequence[int]) -> Iterator[list[list[int]]]:
    """Yield every division of jobs into groups."""
    if not jobs:
        yield []
        return
    first, *others = jobs
    for groups in partitions(others):
        yield [[first], *groups]
        for i, group in enumerate(groups):
            yield [*groups[:i], [first, *group], *groups[i + 1 :]]


def worth(instance: Instance, group: Sequence[int], weights: Sequence[float]) -> float:
    """Return the weighted speeds of a group, from the simulator's definition of a speed."""
    stages = [instance.jobs[j].stages for j in group]
    time = least_iteration_time(tuple(sorted(stages)))
    return sum(
        weights[j] * float(Fraction(sum(s)) / time) for j, s in zip(group, stages, strict=True)
    )


def enumerated(instance: Instance, weights: Sequence[float]) -> float:
    """Return the largest weighted sum of all groupings within the budget."""
    gpus = [job.gpus for job in instance.jobs]
    best = 0.0
    for groups in partitions(range(len(gpus))):
        alike = all(len({gpus[j] for j in g}) == 1 and len(g) <= 3 for g in groups)
        if alike and sum(gpus[g[0]] for g in groups) <= (instance.gpu_budget or 0):
            best = max(best, sum(worth(instance, g, weights) for g in groups))
    return best


@pytest.mark.parametrize("seed", range(8))
def test_the_grouping_is_that_of_enumeration(seed: int) -> None:
    """No grouping within the budget has a larger sum; the bound and the groups say so."""
    instance, weights = drawn(seed)
    best = best_grouping(instance, weights)
    assert best is not None
    assert sorted(j for group in best.groups for j in group) == list(range(len(weights)))
    assert sum(instance.jobs[g[0]].gpus for g in best.groups) <= (instance.gpu_budget or 0)
    assert best.worth == pytest.approx(enumerated(instance, weights), rel=1e-6)
    assert best.worth == pytest.approx(sum(worth(instance, g, weights) for g in best.groups))
    assert best.bound >= best.worth * (1 - 1e-9)


def test_the_declarative_model_with_the_same_values_agrees() -> None:
    """The variant of `interleaving` whose level is the weighted sum of speeds has this optimum."""
    instance, weights = drawn(5)

    jobs = range(len(weights))
    values = {
        " ".join(instance.jobs[j].id for j in group): worth(instance, group, weights)
        for size in (1, 2, 3)
        for group in combinations(jobs, size)
    }

    def speeds(m: Any, instance: Instance) -> Any:
        return sum(values[" ".join(group)] * m.x[i] for i, group in enumerate(m.MEMBERS))

    level = dlsched.Level("speeds", "maximize", speeds)
    variant = dlsched.Variant("interleaving", "weighted-speeds", levels=[level])
    stated = dlsched.solve(instance, variant=variant)
    best = best_grouping(instance, weights)
    assert stated.status == "optimal" and best is not None
    assert best.worth == pytest.approx(float(stated.objective[0]), rel=1e-6)


def test_no_jobs_have_no_groups_and_too_many_multisets_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The empty round is worth nothing; a list that is too long is not made."""
    instance, weights = drawn(5)
    empty = instance.model_copy(update={"jobs": ()})
    assert best_grouping(empty, []) == ([], 0.0, 0.0)
    monkeypatch.setattr(weighted_speeds, "MOST_MULTISETS", 1)
    with pytest.raises(OptionError, match="multisets"):
        best_grouping(instance, weights)


def test_the_objective_is_an_option_of_muri_s() -> None:
    """A simulation with it is audited and says so in its log; what does not fit is refused."""
    rows = [
        {"id": f"j{i}", "submit": 0, "gpus": 1, "work": 10 + 3 * i, "stages": list(STAGES[i % 5])}
        for i in range(7)
    ]
    workload = Workload.parse({"name": "w", "jobs": rows}, "w")
    cluster = Cluster.uniform(1, 3)
    run = simulate(workload, cluster, "muri_s", interval=None, objective="weighted_speeds")
    assert run.audit() and run.complete
    assert "weighted_speeds" in str(run.rounds["solved"].iloc[0])
    for policy, options, said in (
        ("muri_l", {}, "is for muri_s"),
        ("muri_s", {"ties": "shortest"}, "takes no method and leaves no ties"),
        ("muri_s", {"method": "exact"}, "takes no method and leaves no ties"),
    ):
        with pytest.raises(OptionError, match=said):
            simulate(workload, cluster, policy, objective="weighted_speeds", **options)
    with pytest.raises(OptionError, match="objective='x' is none of efficiency"):
        simulate(workload, cluster, "muri_s", objective="x")
