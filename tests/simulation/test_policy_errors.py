"""A policy that decides nonsense, or nothing, ends in one error: policy, time, job and remedy."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from simulation_cases import LENT, ONE, TWO, Scripted, by_hand, on

import dlsched
from dlsched import Claim, InstanceError, OptionError, Run, Status, UnknownName
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

SIZED = Cluster.uniform(servers=2, gpus=2, cpus=4, memory=8)
Decide = Callable[[State], Any]
JOBS = by_hand(
    {"gpus": 2},
    {},
    {"submit": 5},
    {"stages": [1, 2]},
    {"stages": [0, 0]},
    {"gpus": 3, "min_gpus": 1, "max_gpus": 4},
)
"""Jobs a to f: a of two GPUs, c later, d and e with stages, f elastic."""


def jobs(count: int = 4, **fields: Any) -> Workload:
    """Return jobs of one and two GPUs in turn, one a second."""
    rows = ({"submit": i, "gpus": 1 + i % 2} | fields for i in range(count))
    return by_hand(*rows, restart=fields.get("restart", 2))


def run(decide: Decide, workload: Workload, cluster: Cluster = TWO, **options: Any) -> Any:
    """Simulate with a function as policy."""
    policy = type("Made", (), {"name": "made", "decide": lambda _, state: decide(state)})()
    return simulate(workload, cluster, policy, **options)


def first_fit(state: State, **fields: Any) -> dict[str, Allocation]:
    """Return the jobs that start, each on the first server with room."""
    free, start = dict(state.free_gpus), {}
    for view in state.waiting:
        server = next((name for name in free if free[name] >= view.job.gpus), None)
        if server is not None:
            free[server] -= view.job.gpus
            start[view.id] = Allocation((Share(server, view.job.gpus),), **fields)
    return start


def held(*shares: Any, job: str = "b", **fields: Any) -> Decide:
    """Return a policy that starts a job with shares."""
    return lambda _: Decision({job: Allocation(shares, **fields)})


def two(*servers: str, job: str = "e") -> Decide:
    """Return a policy that lets d share GPUs with another job, each on a server."""
    places = zip(("d", job), servers, strict=True)
    return lambda _: Decision({name: on((server, 1), group="g") for name, server in places})


def write(mapping: Any, key: Any, value: Any) -> Decision:
    """Change what a state has, and decide nothing."""
    mapping[key] = value
    return Decision()


S1 = Share("s1", 1)
WRONG: dict[str, tuple[Decide, str]] = {
    "raises": (lambda _: {}["x"], "it raised KeyError: 'x'"),
    "no decision": (lambda _: None, "it returned None; return a dlsched.simulation.Decision"),
    "start is a list": (lambda _: Decision([]), "start is .*; write ids and allocations"),  # type: ignore[arg-type]
    "no allocation": (lambda _: Decision({"b": (S1,)}), "write an Allocation"),  # type: ignore[dict-item]
    "no share": (held(("s1", 1)), "job b: shares are .*; write a tuple of Share"),
    "a number as group": (held(S1, group=3), "job b: group is 3; write a"),
    "preempts a text": (lambda _: Decision(preempt="b"), "preempt is 'b'; write a list of ids"),
    "returns a text": (lambda _: Decision(returned="s1"), "returned is 's1'; write a list of ids"),
    "unknown job": (held(S1, job="x"), "job x is started, but is not present"),
    "not there yet": (held(S1, job="c"), "job c is started, but is not present"),
    "unknown preempted": (lambda _: Decision(preempt=["x"]), "job x is preempted, but does not"),
    "not running": (lambda _: Decision(preempt=["a"]), "job a is preempted, but does not run"),
    "unknown server": (held(Share("x", 1)), "job b: there is no server x"),
    "over capacity": (held(Share("s1", 3), job="f"), "job f: 3 GPUs on s1, which has 2 free"),
    "too many": (lambda _: Decision({"a": on(("s1", 2)), "b": on(("s1", 1))}),
                 "1 GPUs on s1, which has 0"),
    "part of a gang": (held(S1, job="a"), "job a gets 1 GPUs; it runs with 2"),
    "more than an elastic job can": (held(Share("s1", 5), job="f"),
                                     "job f gets 5 GPUs; it runs with 1 to 4"),
    "a server twice": (held(S1, S1, job="a"), "each of its servers is named once"),
    "no GPU": (held(S1, Share("s2", 0)), "with a GPU or more"),
    "fraction of a GPU": (held(Share("s1", 1.5), job="f"), "job f: 1.5 GPUs on s1; write"),  # type: ignore[arg-type]
    "fractions that add up": (held(Share("s1", 0.5), Share("s2", 1.5), job="a"), "0.5 GPUs on s1"),  # type: ignore[arg-type]
    "no stages": (two("s1", "s1", job="b"), "cannot share GPUs"),
    "no stage": (two("s1", "s1"), "jobs d, e cannot share GPUs"),
    "two places": (two("s1", "s2", job="b"), "group g hold different GPUs"),
    "NaN speed": (held(S1, speed=np.nan), "job b: speed nan is not a finite"),
    "negative speed": (held(S1, speed=-1), "speed -1 is negative"),
    "tiny speed": (held(S1, speed=1e-300), "the clock ends at 2.31e.12 s"),
    "speed of 1e-400": (held(S1, speed=1 / Fraction(10) ** 400), "job b: speed is .*range"),
    "speed of 1e400": (held(S1, speed=Fraction(10) ** 400), "job b: speed is .*range"),
    "speed of many digits": (held(S1, speed=1 + Fraction(1, 3**4000)), "speed is .*round it"),
    "NaN CPUs": (held(Share("s1", 1, np.nan)), "job b: CPUs nan is not a finite"),  # type: ignore[arg-type]
    "CPUs made": (held(Share("s1", 1, -3)), "CPUs -3 is negative"),
    "too many CPUs": (held(Share("s1", 1, 5)), "5 CPUs on s1, which has 4 free"),
    "memory of 1e400": (held(Share("s1", 1, 1, Fraction(10) ** 400)), "job b: GB is .*range"),
    "NaN wake-up": (lambda _: Decision(wake=np.nan), "wake: nan is not a finite number"),  # type: ignore[arg-type]
    "wake-up in words": (lambda _: Decision(wake="soon"), 'wake: "soon" is not a number'),  # type: ignore[arg-type]
    "wake-up in the past": (lambda _: Decision(wake=-1), "at -1 s, a time that is not to come"),
    "wake-up now": (lambda _: Decision(wake=0), "a time that is not to come"),
    "wake-up far ahead": (lambda s: Decision(wake=10**15), "the next event is at 1e.15 s"),
    "overhead of nobody": (lambda _: Decision(overhead={"b": 1}), "job 'b', which is not in"),
    "time won": (lambda _: Decision({"b": on(("s1", 1))}, overhead={"b": -2}), "-2 is negative"),
    "long overhead": (lambda _: Decision({"b": on(("s1", 1))}, overhead={"b": 10**13}), "too long"),
    "not lent": (lambda _: Decision(returned=["s1"]), "server s1 is returned, but is not lent"),
    "solved has objects": (lambda _: Decision(solved={"a": object()}), "Decision.solved cannot be"),
    "solved has numbers as keys": (lambda _: Decision(solved={"a": {1: 2}}), "1 as a key"),
    "changes free GPUs": (lambda s: write(s.free_gpus, "s1", 9), "it raised TypeError"),
    "changes allocations": (lambda s: write(s.allocations, "j9", 9), "it raised TypeError"),
    "changes vectors": (lambda s: write(s.arrays.job, 0, 9), "it raised ValueError"),
    "changes sizes": (lambda s: write(s.cluster.order[2], 0, 9), "it raised ValueError"),
    "changes servers": (lambda s: write(s.cluster.by_id, "s1", 9), "it raised TypeError"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_nonsense_is_one_error(name: str) -> None:
    """The message has the policy, the time, what is wrong, and what would be right."""
    decide, message = WRONG[name]
    # A job that comes later would be the next event.
    workload = by_hand({}, {}) if "far ahead" in name or "tiny" in name else JOBS
    with pytest.raises(PolicyError, match=message) as raised:
        run(decide, workload, SIZED)
    assert str(raised.value).startswith("policy made at 0 s: ")


def test_an_end_beyond_the_clock_is_one_error() -> None:
    """A speed that is allowed, but at which a job takes longer than a double can say."""
    slow = held(S1, job="a", speed=Fraction(1, 10**300))
    with pytest.raises(PolicyError, match="next event is at more than 1e308 s; the clock ends"):
        run(slow, by_hand({"work": 10**11}), ONE)


POOLS: list[tuple[dict[str, Any], list[tuple[str, int]], str]] = [
    ({}, [("lent", 2)], "gets lent of the loan pool, but is not fungible"),
    ({"fungible": True}, [("own", 1), ("lent", 1)], "of both pools, but is not heterogeneous"),
    ({"gpus_per_worker": 2}, [("own", 1), ("own2", 1)], "each of its workers has 2 on one"),
]


@pytest.mark.parametrize(("row", "shares", "message"), POOLS)
def test_pools_and_workers_are_respected(
    row: dict[str, Any], shares: list[tuple[str, int]], message: str
) -> None:
    """A job runs on the pools that it can use, and each worker on one server."""
    servers = [{"id": "own", "gpus": 2}, {"id": "own2", "gpus": 2}]
    lent = {"id": "lent", "gpus": 2, "pool": "loan"}
    data = {"servers": [*servers, lent], "loans": [{"time": 0, "servers": 1}]}
    policy = Scripted({0: Decision({"a": on(*shares)})})
    with pytest.raises(PolicyError, match=message):
        simulate(by_hand({"gpus": 2} | row), Cluster.parse(data, "cluster"), policy)


def test_a_lent_server_is_returned_when_it_must_be_and_empty() -> None:
    """Nobody may use it beyond its loan, also between rounds; jobs on it are preempted first."""
    policy = Scripted({0: Decision({"a": on(("own", 1))})}, on_events=False, interval=1000)
    with pytest.raises(PolicyError, match="only 0 servers are lent now"):
        simulate(by_hand({"work": 100}), LENT, policy)
    script = {
        0: Decision({"a": on(("own", 1))}),
        50: Decision({"b": on(("lent", 1))}),
        80: Decision(returned=["lent"]),
    }
    with pytest.raises(PolicyError, match="lent is returned while jobs are on it; preempt them"):
        simulate(by_hand({"work": 100}, {"work": 40, "fungible": True}), LENT, Scripted(script))


NOWHERE: dict[str, Decide] = {
    "never starts anything": lambda s: Decision(wake=s.time + 1),
    "preempts for ever": lambda s: Decision(
        {} if s.running else first_fit(s), [view.id for view in s.running], wake=s.time + 1
    ),
    "moves a job for ever": lambda s: Decision(
        {"a": Allocation((Share(f"s{1 + s.number % 2}", 1),))}, wake=s.time + 2
    ),
    "speed 0": lambda s: Decision(first_fit(s, speed=0), wake=s.time + 1),
    "speed that is rounded to nothing": lambda s: Decision(
        {"a": Allocation((Share(f"s{1 + s.number % 2}", 1),), speed=Fraction(1, 10**9))},
        overhead={"a": 0},
        wake=s.time + 1,
    ),
    "decides nothing": lambda s: Decision(),
}


@pytest.mark.parametrize("name", NOWHERE)
def test_a_policy_that_leads_nowhere_is_stopped(name: str) -> None:
    """Whatever it does, the work left never falls; the remedy names the limit."""
    what = "no event is to come" if name == "decides nothing" else "stuck_after"
    message = rf"1 jobs are not complete, none of them makes progress .*{what}"
    with pytest.raises(PolicyError, match=message):
        run(NOWHERE[name], jobs(1), stuck_after=100)


def test_work_that_is_lost_again_and_again_is_no_progress() -> None:
    """A job without checkpoints that is preempted after each second of work never ends."""
    with pytest.raises(PolicyError, match="none of them makes progress"):
        run(NOWHERE["preempts for ever"], jobs(1, checkpoints=False, restart=0), stuck_after=50)


def test_rounds_that_lead_nowhere_are_stopped() -> None:
    """Jobs that are preempted within their overhead, rounds that start nothing, and speed 0."""
    with pytest.raises(PolicyError, match=r"policy las at .*is the overhead longer than the time"):
        simulate(by_hand(*[{"restart": 1000}] * 6), ONE, "las", stuck_after=200)
    for script in ({}, {0: Decision({"a": on(("s1", 1), speed=0)})}):
        with pytest.raises(PolicyError, match="none of them makes progress"):
            simulate(by_hand({}), ONE, Scripted(script, interval=10), stuck_after=100)


@pytest.mark.parametrize("checkpoints", [True, False])
def test_slow_progress_is_not_stopped(checkpoints: bool) -> None:
    """A job that is preempted again and again, each time a little later, ends."""

    def later(state: State) -> Decision:
        pause = state.number // 2 + 1
        stop = [view.id for view in state.running]
        return Decision({} if stop else first_fit(state), stop, wake=state.time + pause)

    workload = jobs(1, work=200, restart=0, checkpoints=checkpoints)
    done = run(later, workload, stuck_after=5)
    assert done.complete
    assert done.audit()


def test_a_job_in_the_background_is_progress() -> None:
    """One job works for a day while others are preempted every second; it ends, and then they."""

    def decide(state: State) -> Decision:
        runs = {view.id for view in state.running}
        if state.time < 86_500:
            stop = ["c"] if "c" in runs else []
            start = {name: a for name, a in first_fit(state).items() if name in "ac"}
            return Decision({} if stop else start, stop, wake=state.time + 100)
        return Decision(first_fit(state))

    rows = ({"work": 86_400}, {"gpus": 2}, {"restart": 200}, {"gpus": 2})
    assert run(decide, by_hand(*rows), stuck_after=20).complete


def test_memory_that_cannot_be_stored_is_an_error_at_once() -> None:
    """A set is no JSON value, and a number as a key would come back as a text."""
    for memory in ({"seen": {1}}, {"counts": {1: 2}}):

        class Remembers(BasePolicy):
            def decide(self, state: State) -> Decision:
                self.memory |= memory  # noqa: B023
                return Decision(first_fit(state))

        with pytest.raises(PolicyError, match=r"memory cannot be stored in the log .*JSON values"):
            simulate(jobs(), TWO, Remembers())


def test_ctrl_c_in_what_a_policy_solves() -> None:
    """A simulation ends: what the policy solved was cut short, and it would decide otherwise."""
    ended = []

    def solve(state: State) -> Decision:
        def method(instance: object, run: Run) -> Claim:
            os.kill(os.getpid(), signal.SIGINT)
            return Claim(status=Status.NO_SOLUTION)

        ended.append(dlsched.solve("lyra-fig5", method).termination)
        return Decision(start=first_fit(state))

    with pytest.raises(KeyboardInterrupt):
        run(solve, jobs())
    assert ended == ["interrupted"]


class Idle(BasePolicy):
    """A policy of its own, with an interval."""

    def decide(self, state: State) -> Decision:
        """Start what fits."""
        return Decision(first_fit(state))


OPTIONS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "unknown option": ("srtf", {"interval": 60}, "srtf has no option 'interval'; it has none"),
    "unknown option of a policy with some": ("las", {"limit": 60}, "las has no option 'limit'"),
    "unknown option of a subclass": ("federated", {"intervall": 6}, "federated cannot"),
    "method of a policy without problem": ("srtf", {"method": "exact"}, "srtf solves no problem"),
    "a class": (Idle, {}, r"Idle is a class; give an object of it: Idle\(\)"),
    "no policy": (object(), {}, r"object is no policy; give a name, or an object with decide"),
    "options beside an object": (Idle(), {"interval": 6}, "interval is given beside a policy"),
    "method beside an object": (Idle(), {"method": "exact"}, "method is given beside a policy"),
    "no number of decisions": ("srtf", {"stuck_after": 0}, "stuck_after=0 is no number of decis"),
    "what has gone": ("srtf", {"variant": "published"}, "benchmarks/published"),
    "a policy that has gone": ("antman", {}, "benchmarks/published"),
    "a policy that there is not": ("fido", {}, "no policy is called 'fido'; did you mean 'fifo'"),
    "no interval": ("themis", {"interval": 0}, "interval=0"),
    "orders of other jobs": ("list_order", {"order": ["a"]}, "each once"),
    "an order that there is not": ("list_order", {"order": "size"}, "order='size'"),
    "a mode that there is not": ("list_order", {"modes": {"a": 1}}, "no mode 1"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_that_would_be_ignored_are_refused(name: str) -> None:
    """Nothing that a caller gives is dropped without a word."""
    policy, options, message = OPTIONS[name]
    with pytest.raises((OptionError, UnknownName), match=message):
        simulate(jobs(), TWO, policy, **options)


@pytest.mark.parametrize("interval", [0, -5, float("nan"), "often"])
def test_an_interval_that_is_none_is_refused(interval: Any) -> None:
    """Rounds need a time above 0 between them."""
    policy = Idle()
    policy.interval = interval
    with pytest.raises(OptionError, match=r"policy policy: interval .*"):
        simulate(jobs(), TWO, policy)


@pytest.mark.parametrize("field", ["submit", "work", "restart"])
def test_times_that_do_not_fit_into_the_clock_are_refused(field: str) -> None:
    """With 4 GPUs the clock ends at 2**63 / 4 microseconds; times above wrapped around before."""
    last = (2**63 // 4 - 1) // 10**6
    with pytest.raises(InstanceError, match=rf"jobs\[0\].{field}: job a has {field} = 2.30584e"):
        simulate(by_hand({field: last + 1}), TWO, "fifo")
    assert simulate(by_hand({field: last - 100}), TWO, "fifo").complete


NO_WORKLOADS: list[tuple[dict[str, Any], str]] = [
    ({"gpus": 0}, r"jobs\[0\].gpus"),
    ({"min_gpus": 0}, r"jobs\[0\].min_gpus"),
    ({"gpus": 2, "max_gpus": 1}, r"jobs\[0\].gpus: 2 is not from min_gpus = 2 to max_gpus = 1"),
    ({"scaling_loss": 1.5}, r"jobs\[0\].scaling_loss: is above 1"),
    ({"rates": {"v100": 1}}, r"jobs\[0\].gpu_type: None is no type of rates"),
    ({"profile": "x"}, r"jobs\[0\].profile: 'x' is no entry of matrices"),
    ({"gpus": 4, "nodes": [["s1", 2], ["s1", 2]]}, r"jobs\[0\]\.nodes: name s1 2 times; name each"),
]


@pytest.mark.parametrize(("row", "message"), NO_WORKLOADS)
def test_a_job_that_is_none_is_refused(row: dict[str, Any], message: str) -> None:
    """The error has the job's place, before a policy is asked."""
    with pytest.raises(InstanceError, match=message):
        by_hand(row)


TOO_LARGE: list[tuple[str, dict[str, Any], list[dict[str, Any]], str]] = [
    ("fifo", {}, [{"gpus": 4}], "job a needs 6 GPUs, the cluster has 4"),
    ("forked", {}, [{"gpus": 4}] * 2, "copy of job a needs 6 GPUs .*largest .* has 4; "),
    ("las", {}, [{"gpus": 4}, {"gpus": 4, "pool": "loan"}],
     "policy las: job a asks for 6 GPUs.* 4; leave"),
    ("tiresias", {"one_type": True}, [{"gpus": 4}, {"gpus": 4, "gpu_type": "k80"}],
     "policy tiresias: job a asks for 6 GPUs.* 4; leave"),
]  # fmt: skip


@pytest.mark.parametrize(("policy", "options", "kinds", "message"), TOO_LARGE)
def test_a_gang_that_fits_nowhere_is_refused(
    policy: str, options: dict[str, Any], kinds: list[dict[str, Any]], message: str
) -> None:
    """It would wait for ever: for loans, a type of GPU, a node; it is refused before the start."""
    with pytest.raises((PolicyError, InstanceError), match=message):
        simulate(by_hand({"gpus": 6}), Cluster.of(kinds), policy, **options)
