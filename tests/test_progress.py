"""Runs: stages and progress, Ctrl-C, threads, and what they begin from under any limit."""

import contextlib
import logging
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import dlsched
from calls import python
from dlsched import Run, Stage, StageEvent, Status, registry
from dlsched.problems.reclaiming import Instance, Solution
from dlsched.registry import problem
from dlsched.results.result import Point

SMALL = [(name, f"{name}-small-01") for name in dlsched.list_problems()]


@pytest.mark.parametrize(("name", "instance"), SMALL)
def test_stages_in_order(name: str, instance: str) -> None:
    """A solve loads, searches and checks, in this order; nothing is announced after the check."""
    events: list[StageEvent] = []
    dlsched.solve(instance, problem(name).exact, on_stage=events.append)
    stages = [event.stage for event in events]
    assert stages[0] is Stage.LOADING and stages[-1] is Stage.CHECKING
    assert Stage.SEARCHING in stages and stages.count(Stage.CHECKING) == 1
    assert all(event.detail for event in events)
    if name == "reclaiming":  # the integer program announces its building, then each level
        found = [event.detail.split(",")[0] for event in events if event.stage is Stage.SEARCHING]
        assert (
            found == ["with milp", "preempted", "collateral"] and stages.count(Stage.BUILDING) == 1
        )


def test_method_of_others_can_announce() -> None:
    """A method that takes a run can announce stages, but have no option called as the listener."""
    events: list[StageEvent] = []

    def mine(instance: object, run: Run) -> dict[str, list[str]]:
        run.announce(Stage.BUILDING, "a list")
        return {"returned": ["1", "2"]}

    def other(instance: object, rng: object, on_stage: int = 0) -> None:
        pytest.fail("it is called")

    dlsched.solve("lyra-fig5", mine, on_stage=events.append)
    assert StageEvent(Stage.BUILDING, "a list") in events
    with pytest.raises(dlsched.OptionError, match="on_stage"):
        dlsched.solve("lyra-fig5", other)


def test_subproblems_are_quiet(caplog: pytest.LogCaptureFixture) -> None:
    """A nested run announces nothing and logs nothing; its parent's listeners hear nothing."""
    events: list[object] = []
    with caplog.at_level(logging.INFO, "dlsched"):
        part = Run(on_stage=events.append, on_progress=events.append).nested()
        part.announce(Stage.SEARCHING, "a part")
        part.record(1.0, 2.0)
    assert events == [] and caplog.records == []


def test_points_in_the_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many points the log has the first of each stage, and then one a second at most."""
    run = Run()
    with caplog.at_level(logging.INFO, "dlsched"):
        for tenth in range(31):
            monkeypatch.setattr(run, "elapsed", lambda now=tenth / 10: now)
            run.record(100 - tenth, 50)
        run.announce(Stage.SEARCHING, "another level")
        run.record(3, None)
    assert [record.getMessage() for record in caplog.records] == [
        "searching: 0.0 s, incumbent 100, bound 50, gap 50.00 %",
        "searching: 1.0 s, incumbent 90, bound 50, gap 44.44 %",
        "searching: 2.0 s, incumbent 80, bound 50, gap 37.50 %",
        "searching: 3.0 s, incumbent 70, bound 50, gap 28.57 %",
        "searching another level",
        "searching: 3.0 s, incumbent 3",
    ]
    assert len(run.trajectory) == 32


def test_records_carry_their_stage(caplog: pytest.LogCaptureFixture) -> None:
    """Records have their stage as an attribute; a warning says why a start was not used."""
    with caplog.at_level(logging.INFO, "dlsched"):
        dlsched.solve("lyra-fig5")
    stages = {getattr(record, "stage", "") for record in caplog.records}
    assert stages >= {"loading", "building", "checking"}
    caplog.clear()
    start = {"dlsched": 1, "problem": "reclaiming", "instance": "lyra-fig5", "returned": ["9", "1"]}
    with caplog.at_level(logging.WARNING, "dlsched"):
        dlsched.solve("lyra-fig5", "milp", start=start)
    expected = 'the start is not used: rejected by the checker: returned[0]: there is no server "9"'
    assert [record.getMessage() for record in caplog.records] == [expected]


def test_nothing_is_said_by_default() -> None:
    """Without any configuration of logging, a solve writes nothing to the terminal."""
    code = "import dlsched; dlsched.solve('lyra-fig5', 'lyra')"
    ran = python(code)
    assert (ran.stdout, ran.stderr) == ("", "")


def hard() -> Instance:
    """Return jobs on 4 random servers each, which take minutes to solve."""
    options = {"servers": 120, "gpus": 64, "jobs": 400, "demand": 40}
    return dlsched.generate("reclaiming", 0, scattered=4, **options)


def interrupt() -> None:
    """Send Ctrl-C to this process."""
    os.kill(os.getpid(), signal.SIGINT)


def test_interrupt_reaches_the_outer_run() -> None:
    """If a method calls `dlsched.solve`, Ctrl-C interrupts both runs."""

    def outer(instance: Instance, run: Run) -> Solution:
        def listen(point: Point) -> None:
            if point.objective is not None and not run.interrupted:
                interrupt()

        inner = dlsched.solve(instance, on_progress=listen)
        assert run.interrupted and isinstance(inner.solution, Solution)
        return inner.solution

    assert dlsched.solve(hard(), outer).status is Status.FEASIBLE


def test_handlers_of_interrupts() -> None:
    """A second Ctrl-C raises; the handler is restored after an error; what is ignored stays so."""
    run = Run()
    with pytest.raises(KeyboardInterrupt), run.interruptible():
        interrupt()
        interrupt()
    assert run.interrupted
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), Run().interruptible():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is before
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        run = Run()
        with run.interruptible():
            interrupt()
        assert not run.interrupted
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_than_the_main_one() -> None:
    """Outside the main thread, which receives no signals, results are the same."""
    instance = dlsched.generate("reclaiming", servers=20, demand=6)
    here = dlsched.solve(instance).objective
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda _: dlsched.solve(instance).objective, range(6)))
    assert answers == [here] * 6


STARTED = {name: [f"{name}-small-{n:02}" for n in (1, 4, 7, 10)] for name in registry.BUILT_IN}
"""Instances of the library, by problem."""
AT_ONCE = 1e-9


def first_of(instance: Any) -> str:
    """Return the name of the first heuristic of the problem that is for an instance."""
    for start in registry.problem(instance.problem).starts_for(instance):
        with contextlib.suppress(dlsched.OptionError):
            dlsched.solve(instance, start.name, time_limit=AT_ONCE)
            return start.name
    raise AssertionError(f"there is no heuristic for {instance.name}")


@pytest.mark.parametrize("problem", [name for name in registry.BUILT_IN if name != "shares"])
def test_exact_of_a_variant_begins_from_the_heuristics(problem: str) -> None:
    """What they find is in the answer if it fits the variant, however short the limit is."""
    names = [level.name for level in registry.problem(problem).levels]
    variant = dlsched.Variant(problem, "nothing", levels=names)
    for instance in map(dlsched.load, STARTED[problem]):
        exact = dlsched.solve(instance, variant=variant, time_limit=AT_ONCE)
        first = dlsched.solve(instance, first_of(instance), time_limit=AT_ONCE)
        assert exact.objective is not None and first.objective is not None
        assert not first.objective.better_than(exact.objective)


@pytest.mark.parametrize("problem", registry.BUILT_IN)
def test_a_limit_changes_nothing_that_is_proved(problem: str) -> None:
    """Of starts, those that a limit stops come first; a proof's parts are in the summary."""
    owner = registry.problem(problem)
    for instance in owner.module("generate").examples()[:3]:
        limited = [owner.method(start.name).wants_run for start in owner.starts_for(instance)]
        assert limited and limited == sorted(limited, reverse=True)
        free, in_time = dlsched.solve(instance), dlsched.solve(instance, time_limit=600)
        assert (in_time.status, in_time.objective) == (free.status, free.objective)
        assert in_time.status is Status.OPTIMAL
        assert set(in_time.spent) <= {"heuristics", "bound", "search"}


def test_stages_are_announced() -> None:
    """A listener hears of heuristics, bound and search; one at certified bounds ends it all."""
    instance = dlsched.generate("sensitivity", 1, servers=10)
    alone = dlsched.solve(instance, "price_round")
    events: list[StageEvent] = []
    best = dlsched.solve(instance, on_stage=events.append)
    said = [event.detail for event in events if event.stage is Stage.SEARCHING]
    assert [text for text in said if "first solution" in text] == [
        "a first solution, by price_round"
    ]
    assert best.status is Status.OPTIMAL and best.certified == alone.certified
    assert alone.objective == tuple(bound.value for bound in alone.certified)
    assert (best.method, best.solution.method) == ("patterns", "patterns")
    assert dlsched.solve(instance, start=alone.solution).start.accepted
