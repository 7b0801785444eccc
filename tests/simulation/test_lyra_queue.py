"""The jobs that a round of Lyra leaves out could not have started."""

from __future__ import annotations

from typing import Any

import pytest
from test_lyra_policy import cluster, random_jobs, random_loans

import dlsched
from dlsched.problems.elastic.heuristics.completion_rates import total_rate
from dlsched.problems.elastic.instances import state as adapter
from dlsched.registry.cluster_state import JobState
from dlsched.simulation import simulate
from dlsched.simulation.policies import lyra
from dlsched.simulation.policies.lyra_queue import Queue
from dlsched.simulation.policies.lyra_scaling import remaining_times


class Compared(lyra.Lyra):
    """Solves every round's problem with all waiting jobs, too."""

    def __init__(self, elastic: str) -> None:
        super().__init__(elastic=elastic)
        self.fewer = 0

    def _solve(self, draft: Any, able: list[JobState], growing: Any, efficiencies: Any) -> Any:
        every = Asked.every
        remaining = remaining_times(draft, draft.held)
        results = []
        for jobs in (able, every):
            seen = draft.snapshot(draft.held, jobs, remaining=remaining)
            instance = adapter.epoch(seen, mixed_efficiency=min(efficiencies, default=1))
            solution = dlsched.solve(instance, self.elastic).solution
            results.append((instance, solution))
        (_, fewer), (instance, whole) = results
        if self.elastic == "lyra":
            assert fewer.workers == whole.workers
        else:
            best = total_rate(instance, whole)
            assert abs(total_rate(instance, fewer) - best) <= best * 1e-6
        self.fewer += len(able) < len(every)
        return super()._solve(draft, able, growing, efficiencies)


class Asked(Queue):
    """Keeps all jobs of the last question."""

    every: list[JobState]

    def jobs(self, free: Any = None) -> list[JobState]:
        """Return what was asked for, and keep all."""
        Asked.every = super().jobs()
        return super().jobs(free)


@pytest.mark.parametrize(
    ("elastic", "lent"), [("lyra", True), ("completion_rates", True), ("completion_rates", False)]
)
def test_the_round_is_the_same_without_the_jobs_left_out(
    elastic: str, lent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`lyra` starts the same jobs, `completion_rates` completes as many per second."""
    monkeypatch.setattr(lyra, "Queue", Asked)
    policy = Compared(elastic)
    servers = cluster(6, random_loans(), training=2) if lent else cluster(training=2)
    simulate(random_jobs("mixed", 30), servers, policy)
    assert policy.fewer
