"""Simulations by hand, in by_hand.toml, at the edge (extremes.toml), impossible (refused.toml)."""

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from simulation_cases import (
    ONE,
    Scripted,
    audited,
    by_hand,
    column,
    decision,
    ends,
    entries,
    on,
    rows,
    runs,
)

from dlsched import DlschedError
from dlsched.simulation import Cluster, Decision, PolicyError, Simulation, State, simulate


def stretch(row: Mapping[str, Any]) -> str:
    """Return a row of the log's stretches in words, times in seconds."""
    start, end, *others = (f"{row[name] / 1e6:.12g}" for name in
                           ("start", "end", "overhead", "work", "lost"))  # fmt: skip
    words = [f"{what} {x}" for what, x in zip(("overhead", "work", "lost"), others, strict=True)]
    return f"{'abcdef'[row['job']]} {start} {end}, {', '.join(words)}, {row['ending']}"


def reclaimed(run: Simulation) -> dict[str, Any]:
    """Return what the log has on the one reclaim."""
    solved = [json.loads(text) for text in run.rounds["solved"]]
    (found,) = [row["reclaiming"] for row in solved if "reclaiming" in row]
    return dict(found)


@pytest.mark.parametrize("case", entries("by_hand"), ids=lambda case: case["what"])
def test_a_simulation_is_as_worked_out(case: Mapping[str, Any]) -> None:
    """All that the case states is so, and the audit is clean."""
    for run in runs(case):
        by_job = run.jobs.set_index("id")
        for key, name in (("ends", "end"), ("starts", "start"), ("service", "service")):
            if key in case:
                assert dict(by_job[name]) == pytest.approx(case[key])
        views: dict[str, Any] = {
            "stretches": lambda run: [stretch(row) for row in rows(run)],
            "speeds": lambda run: column(run, "speed"),
            "used": lambda run: sorted(set(column(run, "shares"))),
            "overheads": lambda run: [ticks / 1e6 for ticks in column(run, "overhead")],
            "lent": lambda run: [f"{r['time'] // 10**6} {r['server']} {r['lent']}"
                                 for r in rows(run, "loans")],
            "first": lambda run: {"abcdef"[row["job"]]: row["gpus"] for row in rows(run)
                                  if row["start"] == 0},
        }  # fmt: skip
        for key in views.keys() & case.keys():
            assert views[key](run) == case[key]
        expected = case.get("summary", {})
        found = {name: run.summary.get(name) for name in expected}
        assert found == pytest.approx(expected, rel=case.get("rel", 1e-12))
        for name, values in case.get("rounds", {}).items():
            assert run.rounds[name].tolist() == values
        if "reclaimed" in case:
            assert (found := reclaimed(run)) == found | case["reclaimed"]


@pytest.mark.parametrize("case", entries("refused"), ids=lambda case: case["what"])
def test_what_cannot_be_simulated_is_one_error(case: Mapping[str, Any]) -> None:
    """The message says what is wrong, before or when it is needed; with each of the options."""
    count = len(case["options"]) if isinstance(case.get("options"), list) else 1
    for i in range(count):
        one = dict(case) | ({"options": case["options"][i]} if count > 1 else {})
        with pytest.raises(DlschedError, match=case["error"]):
            list(runs(one))


@pytest.mark.parametrize("entry", entries("refused", "decision"), ids=lambda entry: entry["error"])
def test_an_impossible_decision_is_refused(entry: Mapping[str, Any]) -> None:
    """The message has the policy, the time, what the job asked for, and what there is."""
    jobs = by_hand(
        {"gpus": 2}, {}, {"submit": 5}, {"stages": [1, 2]}, {"stages": [0, 0]},
        {"gpus": 3, "min_gpus": 1, "max_gpus": 4},
    )  # fmt: skip
    cluster = Cluster.uniform(servers=2, gpus=2, cpus=4, memory=8)
    with pytest.raises(PolicyError, match=entry["error"]) as raised:
        simulate(jobs, cluster, Scripted({0: decision(entry)}))
    assert str(raised.value).startswith("policy scripted at 0 s: ")


def test_a_policy_may_write_floats_and_numpy_numbers() -> None:
    """7.007 s of overhead and a speed of 0.1 are these decimals: 10 us of work take 100 us."""
    held = on((ONE.servers[0].id, np.int64(1)), speed=np.float64(0.1))
    policy = Scripted({0: Decision({"a": held}, overhead={"a": 2.007}, wake=2.007)})
    run = audited(by_hand({"work": 10e-6}), ONE, policy)
    assert column(run, "time", "completions") == [2_007_100]
    assert policy.times == [0, Fraction(2007, 1000)]


def test_a_policy_is_used_twice_with_the_same_result() -> None:
    """What it remembers of a simulation is gone when the next one begins."""

    class Counting(Scripted):
        def decide(self, state: State) -> Decision:
            self.memory["n"] = self.memory.get("n", 0) + 1
            return Decision({"a": on(("s1", 1))}, overhead={"a": self.memory["n"]})

    policy = Counting({})
    assert [ends(audited(by_hand({}), ONE, policy)) for _ in range(2)] == [[11], [11]]


def test_a_simulation_is_shown_in_a_notebook_and_in_a_line() -> None:
    """Policy, settings and the first metrics; times in hours."""
    run = simulate(by_hand({"work": 7200}), ONE, "las", seed=3)
    assert repr(run) == "Simulation(las, mean_jct=7,200 s, makespan=7,200 s)"
    page = run._repr_html_()
    assert "1 of 1 jobs are complete" in page and "seed 3" in page and "2.00" in page


POLICIES = ("fifo", "srtf", "srsf", "las", "tiresias", "yarn_cs", "gandiva", "lyra", "mast")
EACH = [
    pytest.param(case, policy, marks=() if i % 3 == number % 3 else pytest.mark.slow)
    for number, case in enumerate(entries("extremes"))
    for i, policy in enumerate(POLICIES)
]


@pytest.mark.parametrize(("case", "policy"), EACH, ids=lambda x: x if x in POLICIES else x["what"])
def test_extreme_workloads_are_simulated(case: dict[str, object], policy: str) -> None:
    """All jobs complete; audit, metrics and bounds are as for any other workload."""
    (run,) = runs(case | {"policy": policy})
    assert run.summary["completed"] == len(run.workload.jobs)
    assert json.loads(json.dumps(run.summary, allow_nan=False)) == run.summary
    if POLICIES.index(policy) < 3:  # the bounds are those of the workload, whatever the policy
        for metric in ("mean_jct", "makespan"):
            assert run.bound(metric).value <= run.summary[metric] * (1 + 1e-12)
