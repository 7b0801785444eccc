"""The scores by which `densest` chooses servers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dlsched
from dlsched.problems.reclaiming.structures.job_arrays import Layout, layout_of
from dlsched.problems.reclaiming.structures.server_scores import (
    Scores,
    collateral,
    empty_scores,
    measure,
    note,
    recount,
    update,
)
from dlsched.solvers.compilation import interpreted


def test_corrected_scores_are_those_measured_anew() -> None:
    """After jobs are preempted and resumed, relief and idle servers are as if measured then."""
    made = dlsched.generate("reclaiming", 1, servers=40, demand=9, churn=2.0, odd=0.5)
    assert len(made.jobs) > 20
    layout, rng = layout_of(made), np.random.default_rng(1)
    preempted = np.zeros(len(made.jobs), dtype=np.bool_)
    with interpreted():
        corrected = scores_of(layout, preempted)
        for _ in range(20):
            count = 0
            for j in rng.choice(len(preempted), 3, replace=False):
                preempted[j] = not preempted[j]
                count = note(layout, corrected, j, count)
            update(layout, preempted, corrected, 2, count)
            anew = scores_of(layout, preempted)
            assert corrected.relief == pytest.approx(anew.relief)
            assert corrected.idle.tolist() == anew.idle.tolist()
            assert corrected.rate == pytest.approx(anew.rate)


def test_damage_by_other_workers_is_counted_anew() -> None:
    """The GPUs of a's flexible worker on s1 are damage, until b stops and s1 is idle."""
    weight, gpus = np.ones(2), np.array([4, 2, 8])
    hosts, hosts_at = np.array([0, 1]), np.array([0, 1, 2])
    held, held_at = np.array([0, 1, 1]), np.array([0, 2, 3])
    layout = Layout(weight, hosts_at, hosts, hosts_at, hosts, held_at, held, gpus)
    preempted = np.zeros(2, dtype=np.bool_)
    with interpreted():
        scores = scores_of(layout, preempted)
        assert collateral(layout, preempted, scores, 1, 0) == 2
        preempted[1] = True
        update(layout, preempted, scores, 2, note(layout, scores, 1, 0))
        assert collateral(layout, preempted, scores, 1, 0) == 0


def scores_of(layout: Layout, preempted: Any) -> Scores:
    """Return all servers' scores with the exponent 4."""
    servers = range(len(layout.jobs_at) - 1)
    scores = Scores(*empty_scores(len(servers)))
    for s in servers:
        recount(layout, preempted, scores, s)
    for s in servers:
        if scores.running[s]:
            measure(layout, preempted, scores, s, 2)
    return scores
