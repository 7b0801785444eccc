"""Simulations worked out by hand, in by_hand.toml, and what cannot be done, in refused.toml."""

from __future__ import annotations

import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulation_cases import MATRIX, ONE, Scripted, audited, by_hand, column, ends, on, rows

from dlsched import DlschedError
from dlsched.simulation import (
    Allocation,
    Cluster,
    Decision,
    PolicyError,
    Simulation,
    State,
    simulate,
)

CASES, REFUSED = (
    tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))
    for name in ("by_hand", "refused")
)
PROFILES = {
    "hungry": MATRIX | {"memory": [2], "throughput": [[0.5], [1], [1.5]]},
    "modest": MATRIX | {"memory": [2], "throughput": [[1], [1], [1]]},
}


def held(text: str) -> Allocation:
    """Return what a text says that a job holds."""
    places, *others = text.split(", ")
    named = dict(other.split() for other in others)
    shares = ((server, *map(int, amounts)) for server, *amounts in
              (place.split() for place in places.split(" + ")))  # fmt: skip
    speed = Fraction(named["speed"]) if "speed" in named else None
    return on(*shares, group=named.get("group"), speed=speed)


def decision(entry: Mapping[str, Any]) -> Decision:
    """Return a decision of a script."""
    start = {name: held(text) for name, text in entry.get("start", {}).items()}
    wake = Fraction(entry["wake"]) if "wake" in entry else None
    other = {key: entry[key] for key in ("preempt", "returned", "overhead") if key in entry}
    return Decision(start, wake=wake, **other)


def runs(case: Mapping[str, Any]) -> Iterator[Simulation]:
    """Simulate a case, with each of its policies, methods and options."""
    jobs = [dict(job) for job in case.get("jobs", [{}])]
    head: dict[str, Any] = {key: case[key] for key in ("quotas",) if key in case}
    if case.get("policy") == "synergy":
        # An iteration takes a second at the proportional share.
        plain = {"profile": "modest", "iteration_time": 1}
        jobs = [plain | {"iterations": job["work"]} | job for job in jobs]
        head["matrices"] = PROFILES
    workload = by_hand(*jobs, head=head, **case.get("each", {}))
    servers = list(Cluster.of(case.get("servers", [{"gpus": 1}])).servers)
    loans = [{"time": time, "servers": count} for time, count in case.get("loans", [])]
    data = {"servers": [server.model_dump() for server in servers], "loans": loans}
    cluster = Cluster.parse(data, "by hand")
    if "script" in case:
        script = {Fraction(time): decision(entry) for time, entry in case["script"].items()}
        settings = {key: case[key] for key in ("interval", "on_events") if key in case}
        yield audited(workload, cluster, Scripted(script, **settings), stuck_after=100)
        return
    several = ([x] if not isinstance(x := case.get(key, plain), list) else x
               for key, plain in (("policy", None), ("method", None), ("options", {})))  # fmt: skip
    for policy, method, options in itertools.product(*several):
        stated = {name: None if x == "none" else x for name, x in options.items()}
        yield audited(workload, cluster, policy, **{"method": method} | stated)


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


@pytest.mark.parametrize("case", CASES["case"], ids=lambda case: case["what"])
def test_a_simulation_is_as_worked_out(case: Mapping[str, Any]) -> None:
    """All that the case states is so, and the audit is clean."""
    for run in runs(case):
        by_job = run.jobs.set_index("id")
        for key, name in (("ends", "end"), ("starts", "start")):
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
        assert run.summary == run.summary | case.get("summary", {})
        for name, expected in case.get("rounds", {}).items():
            assert run.rounds[name].tolist() == expected
        if "reclaimed" in case:
            assert (found := reclaimed(run)) == found | case["reclaimed"]


@pytest.mark.parametrize("case", REFUSED["case"], ids=lambda case: case["what"])
def test_what_cannot_be_simulated_is_one_error(case: Mapping[str, Any]) -> None:
    """The message says what is wrong, before or when it is needed; with each of the options."""
    count = len(case["options"]) if isinstance(case.get("options"), list) else 1
    for i in range(count):
        one = dict(case) | ({"options": case["options"][i]} if count > 1 else {})
        with pytest.raises(DlschedError, match=case["error"]):
            list(runs(one))


@pytest.mark.parametrize("entry", REFUSED["decision"], ids=lambda entry: entry["error"])
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
    policy = Scripted({0: Decision({"a": held}, overhead={"a": 2.007}, wake=2.007)})  # type: ignore[dict-item, arg-type]
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
