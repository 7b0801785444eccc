"""A policy that decides nonsense, or nothing, ends in one error: policy, time, job and remedy."""

import os
import re
import signal
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from simulation_cases import TWO, by_hand

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

Decide = Callable[[State], Any]


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


def write(mapping: Any, key: Any, value: Any) -> Decision:
    """Change what a state has, and decide nothing."""
    mapping[key] = value
    return Decision()


S1 = Share("s1", 1)
WRONG: dict[str, tuple[Decide, str]] = {
    "raises": (lambda _: {}["x"], "it raised KeyError: 'x'"),
    "no decision": (lambda _: None, "it returned None; return a dlsched.simulation.Decision"),
    "start is a list": (lambda _: Decision([]), "start is .*; write ids and allocations"),
    "no allocation": (lambda _: Decision({"b": (S1,)}), "write an Allocation"),
    "no share": (held(("s1", 1)), "job b: shares are .*; write a tuple of Share"),
    "a number as group": (held(S1, group=3), "job b: group is 3; write a"),
    "preempts a text": (lambda _: Decision(preempt="b"), "preempt is 'b'; write a list of ids"),
    "overhead without a start": (lambda _: Decision(overhead={"b": 1}), "job 'b', which is not in"),
    "returns a text": (lambda _: Decision(returned="s1"), "returned is 's1'; write a list of ids"),
    "fraction of a GPU": (held(Share("s1", 1.5), job="a"), "job a: 1.5 GPUs on s1; write"),
    "fractions that add up": (held(Share("s1", 0.5), Share("s2", 1.5), job="a"), "0.5 GPUs on s1"),
    "NaN speed": (held(S1, speed=np.nan), "job b: speed nan is not a finite"),
    "tiny speed": (held(S1, speed=1e-300), "the clock ends at 2.31e.12 s"),
    "speed of 1e-400": (held(S1, speed=1 / Fraction(10) ** 400), "job b: speed is .*range"),
    "speed of 1e400": (held(S1, speed=Fraction(10) ** 400), "job b: speed is .*range"),
    "speed of many digits": (held(S1, speed=1 + Fraction(1, 3**4000)), "speed is .*round it"),
    "NaN CPUs": (held(Share("s1", 1, np.nan)), "job b: CPUs nan is not a finite"),
    "memory of 1e400": (held(Share("s1", 1, 1, Fraction(10) ** 400)), "job b: GB is .*range"),
    "NaN wake-up": (lambda _: Decision(wake=np.nan), "wake: nan is not a finite number"),
    "wake-up in words": (lambda _: Decision(wake="soon"), 'wake: "soon" is not a number'),
    "wake-up far ahead": (lambda s: Decision(wake=10**15), "the next event is at 1e.15 s"),
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
        run(decide, by_hand({"gpus": 3, "min_gpus": 1, "max_gpus": 4}, {}))
    assert str(raised.value).startswith("policy made at 0 s: ")


@pytest.mark.parametrize(
    ("policy", "option", "value"),
    [
        *(("sia", "doubling", value) for value in ("x", "no", 1, None)),
        ("backfill", "conservative", "no"),
        ("tiresias", "one_type", 0),
        ("tiresias", "limits", ["x"]),
        ("fair_share", "age", True),
        ("hadar", "slots", 1.5),
        ("muri_s", "interval", "x"),
    ],
)
def test_options_of_another_type(policy: str, option: str, value: Any) -> None:
    """A text given for a truth value does not count as true, nor a truth value as a number."""
    with pytest.raises(OptionError, match=re.escape(f"{option}={value!r} must be ")):
        simulate(jobs(), TWO, policy, **{option: value})


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [("penalty", 1e16, "is too large"), ("power", "x", "no"), ("power", True, "no")],
)
def test_a_number_that_no_instance_has(option: str, value: Any, said: str) -> None:
    """The message is about the option that is wrong alone."""
    with pytest.raises(OptionError, match=re.escape(f"{option}={value!r}: ") + f".*{said}"):
        simulate(jobs(), TWO, "sia", **{option: value})


NOWHERE: dict[str, Decide] = {
    "preempts for ever": lambda s: Decision(
        {} if s.running else first_fit(s), [view.id for view in s.running], wake=s.time + 1
    ),
    "moves a job for ever": lambda s: Decision(
        {"a": Allocation((Share(f"s{1 + s.number % 2}", 1),))}, wake=s.time + 2
    ),
    "speed that is rounded to nothing": lambda s: Decision(
        {"a": Allocation((Share(f"s{1 + s.number % 2}", 1),), speed=Fraction(1, 10**9))},
        overhead={"a": 0},
        wake=s.time + 1,
    ),
}


@pytest.mark.parametrize("name", NOWHERE)
def test_a_policy_that_leads_nowhere_is_stopped(name: str) -> None:
    """Whatever it does, the work left never falls; the remedy names the limit."""
    message = "1 jobs are not complete, none of them makes progress .*stuck_after"
    # Without checkpoints and overhead work is done, and lost again and again.
    lost = [{"checkpoints": False, "restart": 0}] if name == "preempts for ever" else []
    for kind in ({}, *lost):
        with pytest.raises(PolicyError, match=message):
            run(NOWHERE[name], jobs(1, **kind), stuck_after=50)


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


def with_interval(interval: Any) -> Idle:
    """Return such a policy with another interval."""
    policy = Idle()
    policy.interval = interval
    return policy


OPTIONS: list[tuple[Any, dict[str, Any], str]] = [
    (Idle, {}, r"Idle is a class; give an object of it: Idle\(\)"),
    (object(), {}, r"object is no policy; give a name, or an object with decide"),
    (Idle(), {"interval": 6}, "interval is given beside a policy"),
    (Idle(), {"method": "exact"}, "method is given beside a policy"),
    *((with_interval(x), {}, "policy policy: interval ") for x in (0, -5, float("nan"), "often")),
]


@pytest.mark.parametrize(("policy", "options", "message"), OPTIONS)
def test_a_policy_of_ones_own_is_an_object(
    policy: Any, options: dict[str, Any], message: str
) -> None:
    """A class, something else, options beside an object, and an odd interval are refused."""
    with pytest.raises(OptionError, match=message):
        simulate(jobs(), TWO, policy, **options)


@pytest.mark.parametrize("field", ["submit", "work", "restart"])
def test_times_that_do_not_fit_into_the_clock_are_refused(field: str) -> None:
    """With 4 GPUs the clock ends at 2**63 / 4 microseconds; times above wrapped around before."""
    last = (2**63 // 4 - 1) // 10**6
    with pytest.raises(InstanceError, match=rf"jobs\[0\].{field}: job a has {field} = 2.30584e"):
        simulate(by_hand({field: last + 1}), TWO, "fifo")
    assert simulate(by_hand({field: last - 100}), TWO, "fifo").complete
