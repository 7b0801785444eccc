"""The jobs that a round of Lyra leaves out could not have started."""

from __future__ import annotations

from typing import Any

import pytest
from simulation_cases import ends_by_id
from test_lyra_policy import cluster, random_jobs, random_loans, workload

import dlsched
from dlsched.problems.elastic.instances import state as adapter
from dlsched.registry.cluster_state import JobState
from dlsched.simulation import Cluster, simulate
from dlsched.simulation.policies import lyra
from dlsched.simulation.policies.completion_rates import total_rate
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
            instance = adapter.epoch(
                seen,
                mixed_efficiency=min(efficiencies, default=1),
                loan_speed=self._loan_speed,
            )
            solution = dlsched.solve(instance, self._scaling).solution
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
    ("elastic", "loan_speed"),
    [("lyra", 1), ("completion_rates", 1), ("completion_rates", 0.25), ("completion_rates", None)],
)
def test_the_round_is_the_same_without_the_jobs_left_out(
    elastic: str, loan_speed: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`lyra` starts the same jobs, `completion_rates` completes as many per second."""
    monkeypatch.setattr(lyra, "loan_speed", lambda workload, cluster: loan_speed)
    monkeypatch.setattr(lyra, "Queue", Asked)
    policy = Compared(elastic)
    lent = (6, random_loans()) if loan_speed else (0, None)
    servers = cluster(*lent, training=2)
    simulate(random_jobs("mixed", 30), servers, policy)
    assert policy.fewer


@pytest.mark.parametrize("elastic", ["lyra", "completion_rates", "dp"])
def test_large_workers_hold_back_no_job_of_small_ones(elastic: str) -> None:
    """Two GPUs of each pool hold two workers of two GPUs, but none of four of a shorter job."""
    mixed = {"gpus": 4, "heterogeneous": True}
    jobs = workload(
        {"id": "busy", "gpus": 6, "gpus_per_worker": 2, "work": 600},
        mixed | {"id": "wide", "gpus_per_worker": 4, "work": 100, "submit": 60},
        mixed | {"id": "narrow", "gpus_per_worker": 2, "work": 500, "submit": 60},
    )
    lent = {"id": "i1", "gpus": 2, "pool": "loan"}
    loans = [{"time": 0, "servers": 1}]
    servers = {"servers": [{"id": "t1", "gpus": 8}, lent], "loans": loans}
    run = simulate(jobs, Cluster.parse(servers, "the test"), "lyra", elastic=elastic)
    assert ends_by_id(run) == {"busy": 600, "narrow": 560, "wide": 700}
