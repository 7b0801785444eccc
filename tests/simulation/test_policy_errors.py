"""A policy that decides nonsense, or nothing, ends in one error: policy, time, job and remedy."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from simulation_cases import by_hand

import dlsched
from dlsched import Claim, InstanceError, OptionError, Run, Status
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

CLUSTER = Cluster.uniform(servers=2, gpus=2)
Decide = Callable[[State], Any]


def workload(count: int = 4, **fields: Any) -> Workload:
    """Return jobs of one and two GPUs in turn, one a second."""
    plain = {"work": 10, "restart": 2}
    rows = [{"id": f"j{i}", "submit": i, "gpus": 1 + i % 2} | plain | fields for i in range(count)]
    return Workload.parse({"name": "errors", "jobs": rows}, "errors")


ELASTIC = workload(1, min_gpus=1, max_gpus=4, gpus=3)


def run(decide: Decide, jobs: Workload | None = None, **options: Any) -> Any:
    """Simulate with a function as policy."""
    policy = type("Made", (), {"name": "made", "decide": lambda _, state: decide(state)})()
    return simulate(jobs or workload(), CLUSTER, policy, **options)


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
        run(solve)
    assert ended == ["interrupted"]


def first_fit(state: State, **fields: Any) -> dict[str, Allocation]:
    """Return the jobs that start, each on the first server with room."""
    free, start = dict(state.free_gpus), {}
    for view in state.waiting:
        server = next((name for name in free if free[name] >= view.job.gpus), None)
        if server is not None:
            free[server] -= view.job.gpus
            start[view.id] = Allocation((Share(server, view.job.gpus),), **fields)
    return start


def held(*shares: Any, **fields: Any) -> Decision:
    """Return the decision that the first job starts with shares."""
    return Decision({"j0": Allocation(shares, **fields)})


def write(mapping: Any, key: Any, value: Any) -> Decision:
    """Change what a state has, and decide nothing."""
    mapping[key] = value
    return Decision()


WRONG: dict[str, tuple[Decide, str]] = {
    "raises": (lambda _: {}["x"], "it raised KeyError: 'x'"),
    "no decision": (lambda _: None, "it returned None; return a dlsched.simulation.Decision"),
    "start is a list": (lambda _: Decision([]), "start is .*; write ids and allocations"),  # type: ignore[arg-type]
    "no allocation": (lambda _: Decision({"j0": (Share("s1", 1),)}), "write an Allocation"),  # type: ignore[dict-item]
    "no share": (lambda _: held(("s1", 1)), "job j0: shares are .*; write a tuple of Share"),
    "a number as group": (lambda _: held(Share("s1", 1), group=3), "job j0: group is 3; write a"),
    "preempts a text": (lambda _: Decision(preempt="j0"), "preempt is 'j0'; write a list of ids"),
    "returns a text": (lambda _: Decision(returned="s1"), "returned is 's1'; write a list of ids"),
    "unknown job": (lambda _: Decision({"x": Allocation((Share("s1", 1),))}), "job x is started"),
    "unknown preempted": (lambda _: Decision(preempt=["x"]), "job x is preempted, but does not"),
    "unknown server": (lambda _: held(Share("x", 1)), "job j0: there is no server x"),
    "over capacity": (lambda _: held(Share("s1", 3)), "job j0 gets 3 GPUs; it runs with 1 to 2"),
    "a server twice": (lambda _: held(Share("s1", 1), Share("s1", 1)), "servers is named once"),
    "fraction of a GPU": (lambda _: held(Share("s1", 1.5)), "job j0: 1.5 GPUs on s1; write"),  # type: ignore[arg-type]
    "fractions that add up": (
        lambda _: held(Share("s1", 0.5), Share("s2", 1.5)), "job j0: 0.5 GPUs on s1; write"),  # type: ignore[arg-type]
    "NaN speed": (lambda _: held(Share("s1", 1), speed=np.nan), "job j0: speed nan is not a"),  # type: ignore[arg-type]
    "tiny speed": (lambda _: held(Share("s1", 1), speed=1e-300), "the clock ends at 2.31e.12 s"),  # type: ignore[arg-type]
    "NaN CPUs": (lambda _: held(Share("s1", 1, np.nan)), "job j0: CPUs nan is not a finite"),  # type: ignore[arg-type]
    "NaN wake-up": (lambda _: Decision(wake=np.nan), "wake: nan is not a finite number"),  # type: ignore[arg-type]
    "wake-up in words": (lambda _: Decision(wake="soon"), 'wake: "soon" is not a number'),  # type: ignore[arg-type]
    "wake-up in the past": (lambda _: Decision(wake=-1), "at -1 s, a time that is not to come"),
    "wake-up far ahead": (lambda _: Decision(wake=10**15), "the next event is at 1e.15 s"),
    "overhead of nobody": (lambda _: Decision(overhead={"j0": 1}), "job 'j0', which is not in"),
    "long overhead": (
        lambda _: Decision(held(Share("s1", 1)).start, overhead={"j0": 10**13}), "too long"),
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
    with pytest.raises(PolicyError, match=message) as raised:
        run(decide, ELASTIC if "capacity" not in name else workload(1, min_gpus=1, max_gpus=2))
    assert str(raised.value).startswith("policy made at 0 s: ")


NOWHERE: dict[str, Decide] = {
    "never starts anything": lambda s: Decision(wake=s.time + 1),
    "preempts for ever": lambda s: Decision(
        {} if s.running else first_fit(s), [view.id for view in s.running], wake=s.time + 1
    ),
    "moves a job for ever": lambda s: Decision(
        {"j0": Allocation((Share(f"s{1 + s.number % 2}", 1),))}, wake=s.time + 2
    ),
    "speed 0": lambda s: Decision(first_fit(s, speed=0), wake=s.time + 1),
    "speed that is rounded to nothing": lambda s: Decision(
        {"j0": Allocation((Share(f"s{1 + s.number % 2}", 1),), speed=Fraction(1, 10**9))},
        overhead={"j0": 0},
        wake=s.time + 1,
    ),
}


@pytest.mark.parametrize("name", NOWHERE)
def test_a_policy_that_leads_nowhere_is_stopped(name: str) -> None:
    """Whatever it does, the work left never falls; the remedy names the limit."""
    with pytest.raises(PolicyError, match=r"not complete, none of them makes progress .*stuck_aft"):
        run(NOWHERE[name], workload(1), stuck_after=100)


def test_work_that_is_lost_again_and_again_is_no_progress() -> None:
    """A job without checkpoints that is preempted after each second of work never ends."""
    with pytest.raises(PolicyError, match="none of them makes progress"):
        run(NOWHERE["preempts for ever"], workload(1, checkpoints=False, restart=0), stuck_after=50)


def test_a_built_in_policy_in_shorter_rounds_than_the_overhead_is_stopped() -> None:
    """Rounds of 300 s and an overhead of 1,000 s: each job is preempted before it does any work."""
    jobs = workload(6, restart=1000, gpus=1)
    with pytest.raises(PolicyError, match=r"policy las at .*is the overhead longer than the time"):
        simulate(jobs, Cluster.uniform(1, 1), "las", stuck_after=200)


@pytest.mark.parametrize("checkpoints", [True, False])
def test_slow_progress_is_not_stopped(checkpoints: bool) -> None:
    """A job that is preempted 1,000 times, each time a little later, ends."""

    def later(state: State) -> Decision:
        pause = state.number // 2 + 1
        stop = [view.id for view in state.running]
        return Decision({} if stop else first_fit(state), stop, wake=state.time + pause)

    done = run(later, workload(1, work=400, restart=0, checkpoints=checkpoints), stuck_after=5)
    assert done.complete
    assert done.audit()


def test_a_job_in_the_background_is_progress() -> None:
    """One job works for a day while others are preempted every second; it ends, and then they."""

    def decide(state: State) -> Decision:
        runs = {view.id for view in state.running}
        if state.time < 86_500:
            stop = ["j2"] if "j2" in runs else []
            start = {name: a for name, a in first_fit(state).items() if name in ("j0", "j2")}
            return Decision({} if stop else start, stop, wake=state.time + 100)
        return Decision(first_fit(state))

    jobs = workload().model_dump(mode="json")
    jobs["jobs"][0]["work"] = 86_400
    jobs["jobs"][2]["restart"] = 200
    assert run(decide, Workload.parse(jobs, "background"), stuck_after=20).complete


def test_memory_that_cannot_be_stored_is_an_error_at_once() -> None:
    """A set is no JSON value, and a number as a key would come back as a text."""
    for memory in ({"seen": {1}}, {"counts": {1: 2}}):

        class Remembers(BasePolicy):
            def decide(self, state: State) -> Decision:
                self.memory |= memory  # noqa: B023
                return Decision(first_fit(state))

        with pytest.raises(PolicyError, match=r"memory cannot be stored in the log .*JSON values"):
            simulate(workload(), CLUSTER, Remembers())


class Idle(BasePolicy):
    """A policy of its own, with an interval."""

    def decide(self, state: State) -> Decision:
        """Start what fits."""
        return Decision(first_fit(state))


OPTIONS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "unknown option": ("srtf", {"interval": 60}, "srtf has no option 'interval'; it has none"),
    "unknown option of a policy with some": ("las", {"limit": 60}, "las has no option 'limit'"),
    "unknown option of a subclass": (
        "federated",
        {"intervall": 6},
        "federated cannot",
    ),
    "method of a policy without problem": ("srtf", {"method": "exact"}, "srtf solves no problem"),
    "a class": (Idle, {}, r"Idle is a class; give an object of it: Idle\(\)"),
    "no policy": (object(), {}, r"object is no policy; give a name, or an object with decide"),
    "options beside an object": (Idle(), {"interval": 6}, "interval is given beside a policy"),
    "method beside an object": (Idle(), {"method": "exact"}, "method is given beside a policy"),
    "no number of decisions": ("srtf", {"stuck_after": 0}, "stuck_after=0 is no number of decis"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_that_would_be_ignored_are_refused(name: str) -> None:
    """Nothing that a caller gives is dropped without a word."""
    policy, options, message = OPTIONS[name]
    with pytest.raises(OptionError, match=message):
        simulate(workload(), CLUSTER, policy, **options)


@pytest.mark.parametrize("interval", [0, -5, float("nan"), "often"])
def test_an_interval_that_is_none_is_refused(interval: Any) -> None:
    """Rounds need a time above 0 between them."""
    policy = Idle()
    policy.interval = interval
    with pytest.raises(OptionError, match=r"policy policy: interval .*"):
        simulate(workload(), CLUSTER, policy)


@pytest.mark.parametrize("field", ["submit", "work", "restart"])
def test_times_that_do_not_fit_into_the_clock_are_refused(field: str) -> None:
    """With 4 GPUs the clock ends at 2**63 / 4 microseconds; times above wrapped around before."""
    last = (2**63 // 4 - 1) // 10**6
    with pytest.raises(InstanceError, match=rf"jobs\[0\].{field}: job j0 has {field} = 2.30584e"):
        simulate(workload(1, **{field: last + 1}), CLUSTER, "fifo")
    shorter = workload(1, **{field: last - 100})
    assert simulate(shorter, CLUSTER, "fifo").complete


def test_a_workload_names_each_server_of_a_job_once() -> None:
    """Twice is an error of the workload, with the job's place, before a policy is asked."""
    job = {"start": 0, "gpus": 4, "nodes": [["s1", 2], ["s1", 2]]}
    with pytest.raises(InstanceError, match=r"jobs\[0\]\.nodes: name s1 2 times; name each"):
        by_hand(job)
