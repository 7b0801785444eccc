"""Random small simulations of every policy are audited, and views and vectors agree in them."""

from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from simulation_cases import RandomPolicy, audited, profiled_case, random_case

from dlsched.simulation import Cluster, Decision, State, Workload, list_policies, simulate

OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"interval": 15},
    {"interval": 7, "on_events": False},
    {"interval": 50},
)
TICKS = 10**6


class Comparing(RandomPolicy):
    """Compares the two forms in which the state shows the jobs, and what is free, and decides."""

    def decide(self, state: State) -> Decision:
        """Return a random decision."""
        arrays = state.arrays
        views = {view.id: view for view in (*state.waiting, *state.running)}
        position = {job.id: j for j, job in enumerate(state.workload.jobs)}
        assert arrays.job.tolist() == sorted(position[name] for name in views)
        for i, j in enumerate(arrays.job):
            view = views[state.workload.jobs[j].id]
            times = (arrays.remaining[i], arrays.attained[i], arrays.service[i])
            assert times == tuple(TICKS * x for x in (view.remaining, view.attained, view.service))
            assert arrays.running[i] == (view.allocation is not None)
            assert arrays.submit[i] <= state.time * TICKS
            assert 0 <= view.remaining <= view.job.work
        usable = {view.server.id: view.free for view in state.servers}
        assert usable == dict(state.free_gpus)
        assert state.free.tolist() == [usable.get(s.id, 0) for s in state.cluster.servers]
        return super().decide(state)


METRICS = ("mean_jct", "makespan")


@cache
def limit(seed: int, metric: str, sharing: bool) -> Fraction:
    """Return a bound for all policies that share GPUs alike."""
    return simulate(*profiled_case(seed), "fifo").bound(metric, sharing=sharing).value


def case_of(policy: str, seed: int) -> tuple[Workload, Cluster]:
    """Return a workload that a policy can take: for ``recorded`` with the starts under ``fifo``."""
    workload, cluster = profiled_case(seed)
    if policy != "recorded":
        return workload, cluster
    starts = simulate(workload, cluster, "fifo").jobs["start"].tolist()
    jobs = [
        job.model_copy(update={"start": Fraction(str(start))})
        for job, start in zip(workload.jobs, starts, strict=True)
    ]
    return workload.model_copy(update={"jobs": tuple(jobs)}), cluster


MANY = pytest.param(range(1000, 2000), marks=pytest.mark.slow)


@pytest.mark.parametrize("seeds", [[*range(100, 108), 533], MANY])
def test_random_decisions_are_audited_and_no_better_than_a_bound(seeds: Iterable[int]) -> None:
    """Moves, groups, preemptions, loans, overheads, types of GPUs, elastic jobs, jobs with CPUs.

    Those that state no speeds are compared with the bounds.
    """
    for seed in seeds:
        options = OPTIONS[seed % 4] | {"states": bool(seed % 3)}
        run = audited(*random_case(seed), Comparing(**options), seed=seed)
        for metric in () if options["states"] else METRICS:
            assert 0 <= run.bound(metric).value <= run.summary[metric] * (1 + 1e-12), metric


@pytest.mark.parametrize("seeds", [[0], MANY])
@pytest.mark.parametrize("policy", list_policies())
def test_policies_are_audited_and_no_better_than_a_bound(policy: str, seeds: Iterable[int]) -> None:
    """Small simulations of every policy; the bounds of a thousand's first twenty."""
    for seed in seeds:
        run = audited(*case_of(policy, seed), policy, seed=seed)
        for metric in METRICS if seed < 1020 else ():
            value = limit(seed, metric, run.shares_gpus)
            assert value <= run.summary[metric] * (1 + 1e-12), metric
