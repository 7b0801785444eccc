"""Simulations of one to three jobs whose times are worked out by hand."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from simulation_cases import LENT, ONE, TWO, Scripted, audited, by_hand, column, ends, on, rows

from dlsched.simulation import Cluster, Decision, Simulation, State


def stretches(run: Simulation) -> list[tuple[Any, ...]]:
    """Return job, start, end, overhead, work, lost and ending of the segments, in seconds."""
    times = ("start", "end", "overhead", "work", "lost")
    return [(r["job"], *(r[name] / 1e6 for name in times), r["ending"]) for r in rows(run)]


def loans(run: Simulation) -> list[tuple[Any, ...]]:
    """Return when servers come and go."""
    return [tuple(row.values()) for row in rows(run, "loans")]


def test_overhead_comes_before_work() -> None:
    """Submitted at 2, 5 s of overhead, 10.5 s of work: complete at 17.5."""
    simulation = audited(by_hand({"submit": 2, "work": 10.5, "restart": 5}), ONE, "srtf")
    assert stretches(simulation) == [(0, 2, 17.5, 5, 10.5, 0, "completed")]


def test_a_preempted_job_pays_its_overhead_again() -> None:
    """a has 75 s left when b takes its GPU at 30 for 13 s; it ends at 43 + 5 + 75."""
    workload = by_hand({"work": 100, "restart": 5}, {"submit": 30, "restart": 3})
    simulation = audited(workload, ONE, "srtf")
    assert ends(simulation) == [123, 43]
    assert stretches(simulation)[0] == (0, 0, 30, 5, 25, 0, "preempted")
    assert simulation.summary["mean_jct"] == (123 + 13) / 2
    assert simulation.summary["mean_queueing"] == 13 / 2
    assert simulation.summary["utilization"] == 1


def test_without_checkpoints_all_work_is_lost() -> None:
    """The same, but the 25 s that a has done are done again."""
    workload = by_hand(
        {"work": 100, "restart": 5, "checkpoints": False}, {"submit": 30, "restart": 3}
    )
    simulation = audited(workload, ONE, "srtf")
    assert ends(simulation) == [148, 43]
    assert stretches(simulation)[0] == (0, 0, 30, 5, 25, 25, "preempted")


STAGES = {"stages": [2, 1]}
"""Two such jobs have an iteration of 4 s together, 3 s alone: speed 3/4."""


def test_a_job_runs_on_alone_when_its_partner_ends() -> None:
    """a: 6 s of work at 3/4 are 8 s; b has done 6 s of its 12 by then, and ends 6 s later."""
    script = {0: Decision({name: on(("s1", 1), group="g") for name in "ab"})}
    workload = by_hand({"work": 6} | STAGES, {"work": 12} | STAGES)
    simulation = audited(workload, ONE, Scripted(script))
    assert ends(simulation) == [8, 14]
    assert simulation.summary["utilization"] == 1
    assert column(simulation, "speed") == ["3/4", "3/4", "1"]


def test_overhead_goes_on_when_the_partner_ends() -> None:
    """b is to wait 10 s; a ends at 8; b waits 2 s more and works 12 s."""
    script = {0: Decision({name: on(("s1", 1), group="g") for name in "ab"})}
    workload = by_hand({"work": 6} | STAGES, {"work": 12, "restart": 10} | STAGES)
    assert stretches(audited(workload, ONE, Scripted(script))) == [
        (0, 0, 8, 0, 6, 0, "completed"),
        (1, 0, 8, 8, 0, 0, "changed"),
        (1, 8, 22, 2, 12, 0, "completed"),
    ]


def test_a_partner_that_joins_slows_a_job_down_without_overhead() -> None:
    """a is alone for 4 s, then at 3/4: 6 of its 10 s are left, and take 8 s. b starts at 4."""
    script = {
        0: Decision({"a": on(("s1", 1), group="g")}),
        4: Decision({"b": on(("s1", 1), group="g")}),
    }
    workload = by_hand({"restart": 0} | STAGES, {"submit": 4, "restart": 1} | STAGES)
    simulation = audited(workload, ONE, Scripted(script))
    # b: 1 s of overhead, 7 s at 3/4 until 12, then 4.75 s alone.
    assert ends(simulation) == [12, 16.75]


def test_three_jobs_of_one_group_end_one_after_another() -> None:
    """Stages (1, 1, 1) fit without loss: all three run at speed 1, on one GPU."""
    script = {0: Decision({name: on(("s1", 1), group="g") for name in "abc"})}
    workload = by_hand(*({"work": work, "stages": [1, 1, 1]} for work in (3, 5, 9)))
    simulation = audited(workload, ONE, Scripted(script))
    assert ends(simulation) == [3, 5, 9]
    assert simulation.summary["utilization"] == 1
    assert len(stretches(simulation)) == 3


def test_work_is_rounded_down_at_every_change() -> None:
    """4 us at 2/3 are 2 whole us of 10; the other 8 us take 12 us at 2/3 again, on s2."""
    soon = Fraction(4, 10**6)
    script = {
        0: Decision({"a": on(("s1", 1), speed=Fraction(2, 3))}, wake=soon),
        soon: Decision({"a": on(("s2", 1), speed=Fraction(2, 3))}),
    }
    simulation = audited(by_hand({"work": 10e-6}), TWO, Scripted(script))
    assert column(simulation, "end") == [4, 16]
    assert column(simulation, "work") == [2, 8]


def test_a_round_starts_jobs_and_a_completion_does_not() -> None:
    """LAS decides at 0, 300 and 600 only; b ends at 410, a starts again at 600."""
    workload = by_hand({"work": 450, "restart": 10}, {"work": 100, "restart": 10})
    simulation = audited(workload, ONE, "las")
    assert ends(simulation) == [600 + 10 + 160, 410]
    assert list(simulation.rounds["time"]) == [0, 300, 600]
    assert list(simulation.rounds["waiting"]) == [2, 1, 1]


def test_the_first_round_is_the_first_multiple_after_an_arrival() -> None:
    """A job that is submitted at 301 waits until 600, one submitted at 900 does not wait."""
    simulation = audited(by_hand({"submit": 301}, {"submit": 900}), ONE, "las")
    assert ends(simulation) == [610, 910]
    assert list(simulation.rounds["time"]) == [600, 900]


def test_a_policy_is_woken_when_it_asks() -> None:
    """Without rounds and events it decides at the first arrival, and when it asked to."""
    script = {
        1: Decision({"a": on(("s1", 1))}, wake=Fraction(15, 2)),
        Fraction(15, 2): Decision(wake=12),
        12: Decision({"b": on(("s1", 1))}),
    }
    policy = Scripted(script, on_events=False)
    simulation = audited(by_hand({"submit": 1}, {"submit": 2}), ONE, policy)
    assert policy.times == [1, Fraction(15, 2), 12]
    assert ends(simulation) == [11, 22]


def test_a_later_wake_replaces_an_earlier_one() -> None:
    """It asked for 5, and at 3 for 7; a job ends at 10."""
    script = {0: Decision({"a": on(("s1", 1))}, wake=5), 3: Decision(wake=7)}
    policy = Scripted(script | {7: Decision({"b": on(("s2", 1))})})
    audited(by_hand({}, {"submit": 3}), TWO, policy)
    assert policy.times == [0, 3, 7, 10]


def test_one_decision_for_all_that_happens_at_a_time() -> None:
    """a ends when b arrives: one decision, at which b waits and nothing runs."""
    simulation = audited(by_hand({}, {"submit": 10}), ONE, "fifo")
    assert list(rows(simulation, "decisions")[1].values())[:4] == [
        10_000_000, "arrival+completion", 1, 0
    ]  # fmt: skip
    assert ends(simulation) == [10, 20]


def test_a_job_without_work_ends_when_its_overhead_does() -> None:
    """It holds its GPU for 5 s; without overhead it ends when it starts."""
    workload = by_hand({"work": 0, "restart": 5}, {"submit": 5, "work": 0}, {"submit": 5})
    simulation = audited(workload, ONE, "fifo")
    assert ends(simulation) == [5, 5, 15]
    assert simulation.summary["preemptions"] == 0


def test_an_elastic_job_runs_in_proportion_to_its_gpus() -> None:
    """1 of 2 GPUs: 5 of 20 s in 10 s; then 4 GPUs, 2 s of stated overhead, 15 s in 7.5 s."""
    script = {
        0: Decision({"a": on(("s1", 1))}, overhead={"a": 0}),
        10: Decision({"a": on(("s1", 2), ("s2", 2))}, overhead={"a": 2}),
    }
    row = {"gpus": 2, "min_gpus": 1, "max_gpus": 4, "work": 20, "restart": 9}
    assert ends(audited(by_hand(row), TWO, Scripted(script, interval=10))) == [19.5]


def test_mixed_types_run_at_the_slowest_rate() -> None:
    """Work counts on k80 (rate 2): at speed 5/2 on v100, 1 on both, after 4 s of 10 done."""
    cluster = Cluster.of([{"gpus": 2, "gpu_type": "v100"}, {"gpus": 2, "gpu_type": "k80"}])
    script = {
        0: Decision({"a": on(("s1", 2))}),
        2: Decision({"a": on(("s1", 1), ("s2", 1))}),
    }
    row = {"gpus": 2, "rates": {"v100": 5, "k80": 2}, "gpu_type": "k80"}
    assert ends(audited(by_hand(row), cluster, Scripted(script, interval=2))) == [2 + 5]


@pytest.mark.parametrize("on_events", [True, False])
def test_a_lent_server_is_used_and_returned(on_events: bool) -> None:
    """b runs on the lent server from 50 to 80, then waits for a to end at 100."""
    script = {
        0: Decision({"a": on(("own", 1))}, wake=50),
        50: Decision({"b": on(("lent", 1))}),
        80: Decision(preempt=["b"], returned=["lent"], wake=100),
        100: Decision({"b": on(("own", 1))}),
    }
    policy = Scripted(script, on_events=on_events)
    simulation = audited(
        by_hand({"work": 100}, {"work": 40, "restart": 2, "fungible": True}), LENT, policy
    )
    assert ends(simulation) == [100, 100 + 2 + 12]
    assert loans(simulation) == [(50_000_000, "lent", 1), (80_000_000, "lent", 0)]


def test_a_loan_ends_while_nobody_is_there() -> None:
    """The server goes back by itself when no job is present, whatever the policy listens to."""
    workload = by_hand({}, {"submit": 100})
    policy = Scripted(
        {0: Decision({"a": on(("own", 1))}), 100: Decision({"b": on(("own", 1))})},
        on_events=False,
        interval=100,
    )
    simulation = audited(workload, LENT, policy)
    assert loans(simulation) == [(50_000_000, "lent", 1), (80_000_000, "lent", 0)]


@pytest.mark.parametrize("policy", ["fifo", "srtf", "las"])
def test_an_order_leaves_the_loan_pool_alone(policy: str) -> None:
    """b waits for a's GPU although a server is lent; the server goes back as it comes."""
    simulation = audited(by_hand({"work": 60, "fungible": True}, {"fungible": True}), LENT, policy)
    assert set(column(simulation, "shares")) == {'[["own", 1]]'}


def test_an_order_keeps_workers_whole() -> None:
    """One GPU of each server is free at 1; c's worker of 2 waits for a to end at 5."""
    rows = ({"work": 5}, {"work": 9}, {"submit": 1, "work": 20, "gpus_per_worker": 2})
    workload = by_hand(*({"gpus": 2} | row for row in rows))
    assert ends(audited(workload, Cluster.uniform(servers=2, gpus=3), "fifo")) == [5, 9, 25]


def test_a_policy_may_write_floats_and_numpy_numbers() -> None:
    """7.007 s of overhead and a speed of 0.1 are these decimals: 10 us of work take 100 us."""
    held = on((ONE.servers[0].id, np.int64(1)), speed=np.float64(0.1))
    script = {0: Decision({"a": held}, overhead={"a": 2.007}, wake=2.007)}
    policy = Scripted(script)
    simulation = audited(by_hand({"work": 10e-6}), ONE, policy)
    assert column(simulation, "time", "completions") == [2_007_100]
    assert policy.times == [0, Fraction(2007, 1000)]


def test_a_policy_is_used_twice_with_the_same_result() -> None:
    """What it remembers of a simulation is gone when the next one begins."""

    class Counting(Scripted):
        def decide(self, state: State) -> Decision:
            self.memory["n"] = self.memory.get("n", 0) + 1
            return Decision({"a": on(("s1", 1))}, overhead={"a": self.memory["n"]})

    policy = Counting({})
    assert [ends(audited(by_hand({}), ONE, policy)) for _ in range(2)] == [[11], [11]]
