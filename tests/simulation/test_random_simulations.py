"""Random small simulations of every policy are audited, and views and vectors agree in them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from simulation_cases import RandomPolicy, random_case

from dlsched.simulation import Decision, State, list_policies, simulate
from dlsched.simulation.clock import TICKS

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


def check_random(seeds: Iterator[int]) -> None:
    """Audit simulations with random decisions."""
    for seed in seeds:
        workload, cluster = random_case(seed)
        run = simulate(workload, cluster, Comparing(**OPTIONS[seed % 4]), seed=seed)
        assert run.audit(), (seed, run.audit())


def check_policy(policy: str, seeds: Iterator[int]) -> None:
    """Audit simulations of a policy on workloads that every policy can take."""
    for seed in seeds:
        count = random.Random(seed).randint(1, 12)
        workload, cluster = random_case(seed, plain=True, count=count)
        run = simulate(workload, cluster, policy, seed=seed)
        assert run.audit(), (seed, run.audit())


def test_random_decisions_are_audited() -> None:
    """Thirty simulations with moves, groups, preemptions, loans, stated speeds and overheads."""
    check_random(iter(range(100, 130)))


@pytest.mark.parametrize("policy", list_policies())
def test_policies_are_audited(policy: str) -> None:
    """A few small simulations of every policy have no violation."""
    check_policy(policy, iter(range(8)))


@pytest.mark.slow
def test_a_thousand_random_simulations() -> None:
    """The same as above, a thousand times."""
    check_random(iter(range(1000, 2000)))


@pytest.mark.slow
@pytest.mark.parametrize("policy", list_policies())
def test_a_thousand_simulations_of_every_policy(policy: str) -> None:
    """The same as above, a thousand times."""
    check_policy(policy, iter(range(1000, 2000)))
