"""What a job with a matrix of throughput holds: the same in engine, audit and bounds.

That random policies which state some of the amounts pass the audit and beat no bound is in
test_random_simulations.py.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from simulation_cases import audited, by_hand, changed, column, ends

from dlsched.simulation import (
    Allocation,
    BasePolicy,
    Cluster,
    Decision,
    PolicyError,
    Share,
    State,
    Workload,
    simulate,
)

LINEAR = {"cpus": [1, 3, 6], "memory": [1], "throughput": [[1], [3], [6]], "share": [3, 1]}
"""A throughput that grows with the CPUs; the proportional share has 3."""


def two_jobs(**changes: Any) -> Workload:
    """Return a job of 20 s at the proportional share and one of 10 s, of one GPU each."""
    return by_hand({"work": 20}, {}, profile="p", head={"matrices": {"p": LINEAR | changes}})


def servers(cpus: int, gpus: int = 2) -> Cluster:
    """Return one server."""
    return Cluster.uniform(1, gpus, cpus=cpus, memory=9)


class AllForOne(BasePolicy):
    """Starts all jobs at once on one server; states 6 CPUs for job a and none for others."""

    name = "all for one"

    def decide(self, state: State) -> Decision:
        """Start what waits."""
        return Decision(
            {
                view.id: Allocation((Share("s1", 1, 6 if view.id == "a" else None),))
                for view in state.waiting
            }
        )


def test_a_share_that_states_no_cpus_holds_the_proportional_ones() -> None:
    """Of 6 CPUs none is left beside a job that holds 6: the other one needs its 3."""
    with pytest.raises(PolicyError, match="job b: 3 CPUs on s1, which has 0 free"):
        simulate(two_jobs(), servers(6), AllForOne())
    run = audited(two_jobs(), servers(9), AllForOne())
    assert ends(run) == [10, 10]
    assert run.bound("makespan").value <= 10


@pytest.mark.parametrize("shares", ['[["s1", 1]]', '[["s1", 1, 3.0, 1.0]]'])
def test_the_audit_counts_what_no_share_states(shares: str) -> None:
    """A log in which 9 CPUs are held of 6 is refused, whether it states the last 3 or not."""
    run = simulate(two_jobs(), servers(9), AllForOne())
    other = changed(run, f"UPDATE segments SET shares = '{shares}' WHERE job = 1")
    assert other.audit()
    smaller = json.dumps(servers(6).model_dump(mode="json"))
    worse = changed(other, f"UPDATE meta SET value = '{smaller}' WHERE key = 'cluster'")
    assert {violation.kind for violation in worse.audit().violations} == {"cpus"}


def test_a_server_with_less_than_the_proportional_share_is_slower() -> None:
    """With one CPU for each GPU jobs run at a third of their speed, and CPUs bound the makespan."""
    run = audited(two_jobs(), servers(2), "fifo")
    assert ends(run) == [60, 30]
    # The two CPUs do as much as two thirds of a proportional share: 30 s of work take 45 s.
    assert 44.99 < run.bound("makespan").value <= 45


def test_amounts_between_the_axes_are_rounded_down() -> None:
    """With 5.9 CPUs it is as fast as with 3."""

    class Amounts(BasePolicy):
        def decide(self, state: State) -> Decision:
            return Decision(
                {view.id: Allocation((Share("s1", 1, 5.9, 2),)) for view in state.waiting}  # type: ignore[arg-type]
            )

    assert ends(audited(two_jobs(), servers(12), Amounts())) == [20, 10]


def test_jobs_of_a_group_hold_the_same_cpus() -> None:
    """A job without a matrix holds none; with one that holds 3 it cannot share what it holds."""
    jobs = by_hand(
        {"stages": [1, 2], "profile": "p"}, {"stages": [2, 1]}, head={"matrices": {"p": LINEAR}}
    )

    class Together(BasePolicy):
        name = "together"
        cpus: int | None = None

        def decide(self, state: State) -> Decision:
            share = Share("s1", 1, self.cpus, self.cpus)
            return Decision({view.id: Allocation((share,), "g") for view in state.waiting})

    with pytest.raises(PolicyError, match="state the CPUs and memory"):
        simulate(jobs, servers(3, 1), Together())
    stated = Together()
    stated.cpus = 3
    assert simulate(jobs, servers(3, 1), stated).audit()


def test_none_of_a_resource_is_stated_as_none() -> None:
    """A job that is as fast without CPUs holds 0 under list scheduling, not the proportional 3."""
    jobs = two_jobs(cpus=[0, 3, 6], throughput=[[1], [1], [1]])
    run = audited(jobs, servers(3), "list_order")
    assert ends(run) == [20, 10]
    assert json.loads(column(run, "shares")[0]) == [["s1", 1, 0.0, 1.0]]
