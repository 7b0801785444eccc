"""The loops of `densest`: built and run by Python alike, and their scores measured anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dlsched
from dlsched.problems.reclaiming.kernels import densest
from dlsched.problems.reclaiming.structures.job_arrays import Layout, layout_of
from kernel_sources import as_python

PYTHON = as_python("problems.reclaiming.kernels.densest")


@pytest.mark.parametrize("seed", range(8))
def test_built_and_not(seed: int) -> None:
    """The built loops preempt the same jobs, of the same weight, as Python does."""
    made = dlsched.generate("reclaiming", seed, servers=25, demand=3 + seed, churn=2.0, odd=0.5)
    layout, rng = layout_of(made), np.random.default_rng(seed)
    order = rng.permutation(len(made.jobs))
    draws = rng.random((4, 2))
    answers = []
    for kernel in (densest, PYTHON):
        preempted = np.zeros(len(made.jobs), dtype=np.uint8)
        first = kernel.empty(layout, made.demand, 2 + seed % 4, order, preempted)
        kernel.ruin(layout, preempted, 4, draws)
        second = kernel.empty(layout, made.demand, 2, order, preempted)
        answers.append((first, second, preempted.tolist()))
    assert answers[0] == answers[1]


def test_corrected_scores_are_those_measured_anew() -> None:
    """After jobs are preempted and resumed, relief and idle servers are as if measured then."""
    made = dlsched.generate("reclaiming", 1, servers=40, demand=9, churn=2.0, odd=0.5)
    assert len(made.jobs) > 20
    layout, rng = PYTHON.Layout(layout_of(made)), np.random.default_rng(1)
    preempted = np.zeros(len(made.jobs), dtype=np.uint8)
    corrected = scores_of(layout, preempted)
    for _ in range(20):
        count = 0
        for j in rng.choice(len(preempted), 3, replace=False):
            preempted[j] = not preempted[j]
            count = PYTHON.note(layout, corrected, j, count)
        PYTHON.update(layout, preempted, corrected, 2, count)
        anew = scores_of(layout, preempted)
        assert corrected.relief == pytest.approx(anew.relief)
        assert corrected.idle.tolist() == anew.idle.tolist()
        assert corrected.rate == pytest.approx(anew.rate)


def test_damage_by_other_workers_is_counted_anew() -> None:
    """The GPUs of a's flexible worker on s1 are damage, until b stops and s1 is idle."""
    weight, gpus = np.ones(2), np.array([4, 2, 8])
    hosts, hosts_at = np.array([0, 1]), np.array([0, 1, 2])
    held, held_at = np.array([0, 1, 1]), np.array([0, 2, 3])
    layout = PYTHON.Layout(Layout(weight, hosts_at, hosts, hosts_at, hosts, held_at, held, gpus))
    preempted = np.zeros(2, dtype=np.uint8)
    scores = scores_of(layout, preempted)
    assert PYTHON.collateral(layout, preempted, scores, 1, 0) == 2
    preempted[1] = True
    PYTHON.update(layout, preempted, scores, 2, PYTHON.note(layout, scores, 1, 0))
    assert PYTHON.collateral(layout, preempted, scores, 1, 0) == 0


def scores_of(layout: Any, preempted: Any) -> Any:
    """Return all servers' scores with the exponent 4."""
    servers = range(len(layout.jobs_at) - 1)
    scores = PYTHON.Scores(len(servers), len(preempted))
    for s in servers:
        PYTHON.recount(layout, preempted, scores, s)
    for s in servers:
        if scores.running[s]:
            PYTHON.measure(layout, preempted, scores, s, 2)
    return scores
