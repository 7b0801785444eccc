"""Random small simulations of every policy are audited, and views and vectors agree in them."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from simulation_cases import RandomPolicy, profiled_case, random_case

from dlsched.simulation import Cluster, Decision, State, Workload, simulate
from dlsched.simulation.bounds import METRICS, bound
from dlsched.simulation.policies import BUILT_IN
from dlsched.simulation.workload.clock import TICKS

OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"interval": 15},
    {"interval": 7, "on_events": False},
    {"interval": 50},
)


class Comparing(RandomPolicy):
    """Compares the two forms in which the state shows the jobs, and what is free, and decides."""

    def decide(self, state: State) -> Decision:
        """Return a random decision."""
        arrays = state.arrays
        views = {view.id: view for view in (*state.waiting, *state.running)}
        assert [state.workload.jobs[j].id for j in arrays.job] == sorted(views, key=_number(state))
        for i, j in enumerate(arrays.job):
            view = views[state.workload.jobs[j].id]
            times = (arrays.remaining[i], arrays.attained[i], arrays.service[i])
            assert times == tuple(TICKS * x for x in (view.remaining, view.attained, view.service))
            assert arrays.running[i] == (view.allocation is not None)
            assert arrays.submit[i] <= state.time * TICKS
            assert 0 <= view.remaining <= view.job.work
        names = [server.id for server in state.cluster.servers]
        usable = {view.server.id: view.free for view in state.servers}
        assert usable == dict(state.free_gpus)
        assert state.free.tolist() == [usable.get(name, 0) for name in names]
        return super().decide(state)


def _number(state: State) -> Any:
    return {job.id: j for j, job in enumerate(state.workload.jobs)}.__getitem__


def check_random(seeds: Iterable[int]) -> None:
    """Audit simulations with random decisions."""
    for seed in seeds:
        workload, cluster = random_case(seed)
        run = simulate(workload, cluster, Comparing(**OPTIONS[seed % 4]), seed=seed)
        assert run.audit(), (seed, run.audit())


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


def check_policy(policy: str, seeds: Iterable[int]) -> None:
    """Audit simulations of a policy on workloads that every policy can take."""
    for seed in seeds:
        run = simulate(*case_of(policy, seed), policy, seed=seed)
        assert run.audit(), (seed, run.audit())


def test_random_decisions_are_audited() -> None:
    """Ten simulations with moves, groups, preemptions, loans, stated speeds and overheads."""
    check_random(range(100, 110))


@cache
def limit(seed: int, metric: str, sharing: bool) -> float:
    """Return a bound for the policies that share GPUs alike."""
    return float(bound(*profiled_case(seed), metric, sharing=sharing).value)


def check_bounds(policy: str, seeds: Iterable[int]) -> None:
    """Audit simulations of a policy; compare completion time and makespan with lower bounds."""
    for seed in seeds:
        run = simulate(*case_of(policy, seed), policy, seed=seed)
        assert run.audit(), (seed, run.audit())
        for metric in METRICS:
            value = limit(seed, metric, run.shares_gpus)
            assert value <= run.summary[metric] * (1 + 1e-12), (seed, metric)


SEEDS = [0, pytest.param(1, marks=pytest.mark.slow)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("policy", BUILT_IN)
def test_policies_are_audited_and_no_better_than_a_bound(policy: str, seed: int) -> None:
    """Small simulations of every policy have no violation, and none is below its lower bounds."""
    check_bounds(policy, [seed])


def check_random_bounds(seeds: Iterable[int]) -> None:
    """Compare random decisions with the bounds, on several types, a loan, and elastic jobs."""
    for seed in seeds:
        run = simulate(*random_case(seed), RandomPolicy(states=False), seed=seed)
        for metric in METRICS:
            assert float(run.bound(metric).value) <= run.summary[metric] * (1 + 1e-12), seed


def test_no_random_decisions_are_better_than_a_bound() -> None:
    """Nor are random decisions, with several types, loans, elastic jobs and groups."""
    check_random_bounds(range(2))


@pytest.mark.slow
def test_a_thousand_simulations_are_no_better_than_a_bound() -> None:
    """The same for random decisions and all policies, on more workloads."""
    check_random_bounds(range(1000, 1500))
    for policy in BUILT_IN:
        check_bounds(policy, range(1000, 1020))


@pytest.mark.slow
def test_a_thousand_random_simulations() -> None:
    """The same as above, a thousand times."""
    check_random(range(1000, 2000))


@pytest.mark.slow
@pytest.mark.parametrize("policy", BUILT_IN)
def test_a_thousand_simulations_of_every_policy(policy: str) -> None:
    """The same as above, a thousand times."""
    check_policy(policy, range(1000, 2000))
