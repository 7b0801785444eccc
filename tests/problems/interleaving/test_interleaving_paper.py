"""Muri's printed numbers."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dlsched
from dlsched.problems.interleaving import iteration_time
from dlsched.problems.interleaving.definition.check import efficiency
from dlsched.problems.interleaving.structures.offsets import best_offsets
from dlsched.problems.interleaving.structures.profiles import (
    MODELS,
    RESOURCES,
    TABLE_2,
    iteration_milliseconds,
)


def gamma(instance: dlsched.Instance, *jobs: str) -> Fraction:
    """Return the best gamma of a group of jobs."""
    stages = [instance.jobs[instance.job_index[job]].stages for job in jobs]
    return efficiency(stages, best_offsets(stages))


def test_figure_4() -> None:
    """A-B and C-D interleave at gamma 1, A-C at 0.75; grouping A-B and C-D is the optimum."""
    instance = dlsched.load("muri-fig4")
    found = (gamma(instance, "A", "B"), gamma(instance, "C", "D"), gamma(instance, "A", "C"))
    assert found == (1, 1, Fraction("0.75"))
    best = dlsched.solve(instance)
    assert (best.method, tuple(best.objective)) == ("blossom", (2,))


def test_figure_6() -> None:
    """A has 2 on the CPU, B 2 on the GPU: gamma 0.5 with T = 5, in the worst order 0.4167 at 6."""
    instance = dlsched.load("muri-fig6")
    a, b = (job.stages for job in instance.jobs)
    assert (a, b) == ((1, 2, 1, 1), (1, 1, 2, 1))
    assert iteration_time((a, b), best_offsets((a, b))) == 5
    assert tuple(dlsched.solve(instance, "milp").objective) == (Fraction(1, 2),)
    worst = dlsched.solve(instance, "muri_worst_order")
    assert iteration_time((a, b), worst.solution.groups[0].offsets) == 6
    assert tuple(worst.objective) == (Fraction(10, 24),)


def test_table_1() -> None:
    """The shares are the printed ones, and their largest is the bottleneck that Table 3 names."""
    percent = {
        "shufflenet": (60, 18, 6, 2),
        "vgg19": (24, 4, 26, 41),
        "gpt2": (0.06, 0.03, 85, 28),
        "a2c": (0, 91, 3, 0.2),
    }
    for name, printed in percent.items():
        assert [100 * share for share in MODELS[name].shares] == pytest.approx(printed)
    for model in MODELS.values():
        assert RESOURCES[model.shares.index(max(model.shares))] == model.bottleneck


def test_table_2() -> None:
    """Eq. 3 with Table 1 predicts 0.918 s; the shared throughputs imply 1.165 s for all four."""
    instance = dlsched.load("muri-table2")
    best = dlsched.solve(instance)
    stages = [instance.jobs[instance.job_index[j]].stages for j in best.solution.groups[0].jobs]
    predicted = iteration_time(stages, best.solution.groups[0].offsets)
    assert float(predicted) == pytest.approx(918, abs=0.5)
    shared = [iteration_milliseconds(batch, together) for batch, _, together in TABLE_2.values()]
    assert min(shared) > 1163 and max(shared) < 1167
    alone = [iteration_milliseconds(batch, single) for batch, single, _ in TABLE_2.values()]
    # The sum of the normalised throughputs, as the table prints it, and as eq. 3 predicts it.
    assert sum(a / s for a, s in zip(alone, shared, strict=True)) == pytest.approx(2.00, abs=0.005)
    assert sum(alone) / float(predicted) == pytest.approx(2.54, abs=0.005)
    assert dlsched.solve(instance, "muri").objective == best.objective
