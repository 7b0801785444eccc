"""The round that values what is left of each job, against enumeration and the declarative model."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pyomo.environ as pyo
import pytest
from elastic_instances import epoch, job

import dlsched
from dlsched.problems.elastic import Instance
from dlsched.problems.elastic.definition.check import check
from dlsched.problems.elastic.definition.job_choices import (
    Workers,
    gpus_of,
    running_time,
    splits,
)
from dlsched.problems.elastic.instances.strategy import VARIATIONS, instances
from dlsched.simulation.policies.completion_rates import completion_rates, total_rate
from drawing import drawn

PRECISION = Fraction(1, 10**6)
"""Gains are rounded to whole units of the largest one: their sum is optimal up to this share."""


def allocations(instance: Instance) -> Iterator[dict[str, Workers]]:
    """Yield every allocation that fits."""
    idle = (0,) * len(instance.capacities)
    options = [[*splits(instance, j), *([] if j.running else [idle])] for j in instance.jobs]
    for chosen in itertools.product(*options):
        used = [
            gpus_of(instance, j, w) if any(w) else idle
            for j, w in zip(instance.jobs, chosen, strict=True)
        ]
        totals = [sum(column) for column in zip(*used, strict=True)] or list(idle)
        if all(n <= free for n, free in zip(totals, instance.capacities, strict=True)):
            yield {j.id: w for j, w in zip(instance.jobs, chosen, strict=True) if any(w)}


def rate_of(instance: Instance, workers: dict[str, Workers]) -> Fraction:
    """Return the completions per second, from the definition."""
    by_id = {j.id: j for j in instance.jobs}
    times = (running_time(instance, by_id[name], w) for name, w in workers.items())
    return sum((1 / Fraction(time) for time in times), Fraction(0))


@pytest.mark.parametrize("variation", range(len(VARIATIONS)))
def test_the_sum_of_the_rates_is_that_of_enumeration(variation: int) -> None:
    """No allocation that fits completes more jobs per second."""

    @drawn(30, instances(**VARIATIONS[variation]))
    def compare(instance: Instance) -> None:
        solution = dlsched.solve(instance, completion_rates).solution
        assert check(instance, solution).feasible
        best = max(rate_of(instance, workers) for workers in allocations(instance))
        reached = total_rate(instance, solution)
        assert best * (1 - PRECISION) <= reached <= best

    compare()


def test_a_gpu_goes_to_the_least_area_that_is_left() -> None:
    """Of a running job with 90 GPU-seconds left and a waiting one with 80, the second gets it."""
    made = epoch(1, job("runs", 1, 2, 45, running=True), job("waits", 1, 1, 80))
    assert dlsched.solve(made, completion_rates).solution.workers == {"runs": 1, "waits": 1}
    other = epoch(1, job("runs", 1, 2, 35, running=True), job("waits", 1, 1, 80))
    assert dlsched.solve(other, completion_rates).solution.workers == {"runs": 2}


@pytest.mark.parametrize(
    ("seconds", "given"), [(40, {"runs": 2}), (44.4444, {"runs": 1, "waits": 1})]
)
def test_a_loss_of_added_workers_lets_a_waiting_job_go_before(
    seconds: float, given: dict[str, int]
) -> None:
    """With 80 and 90 GPU-seconds left, 1/80 is above 1/90; 0.8/80, with the loss, is not."""
    runs = job("runs", 1, 2, [80, seconds], running=True)
    made = epoch(1, runs, job("waits", 1, 1, 90))
    assert dlsched.solve(made, completion_rates).solution.workers == given


def test_without_limits_all_gpus_go_to_the_least_left() -> None:
    """On both kinds of GPUs, if none loses by the other: shortest remaining time first."""
    both = {"heterogeneous": True}
    rows = [job(name, 1, 9, left, **both) for name, left in (("a", 12), ("b", 10), ("c", 11))]
    made = epoch(4, *rows, loan=5).model_copy(update={"mixed_efficiency": Fraction(1)})
    given = dlsched.solve(made, completion_rates).solution.workers
    assert given == {"b": {"training": 4, "loan": 5}}


def test_equal_sums_keep_the_fewer_workers() -> None:
    """A job that is no faster with a second worker does not get it."""
    made = epoch(3, job("flat", 1, 3, [12, 12, 12]))
    assert dlsched.solve(made, completion_rates).solution.workers == {"flat": 1}


@pytest.mark.parametrize(
    "options",
    [{}, {"scaling": "loss"}, {"scaling": "loss", "loan": 10, "heterogeneous": 0.4}],
    ids=["linear", "loss", "loss and two kinds of GPUs"],
)
def test_the_declarative_model_with_the_same_values_agrees(options: dict[str, Any]) -> None:
    """The variant whose level is the sum of the rates has the same optimum, and proves it."""

    def rates(m: pyo.ConcreteModel, instance: Instance) -> pyo.Expression:
        jobs = {j.id: j for j in instance.jobs}
        return sum(
            float(1 / Fraction(running_time(instance, jobs[j], tuple(w)))) * m.x[(j, *w)]
            for j, *w in m.ITEMS
        )

    level = dlsched.Level("rate", "maximize", rates)
    variant = dlsched.Variant("elastic", "completion-rates", levels=[level])
    instance = dlsched.generate("elastic", 1, jobs=12, capacity=20, **options)
    stated = dlsched.solve(instance, variant=variant)
    reached = total_rate(instance, dlsched.solve(instance, completion_rates).solution)
    assert stated.status == "optimal"
    assert float(reached) == pytest.approx(float(stated.objective[0]), rel=1e-9)


def test_the_empty_round_has_the_empty_answer() -> None:
    """Without jobs there is nothing to give."""
    solution = dlsched.solve(epoch(4), completion_rates).solution
    assert solution.workers == {}
