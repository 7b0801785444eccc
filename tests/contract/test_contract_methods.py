"""What every method promises: its options, limits, interrupts, threads, seeds and starts."""

import os
import random
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import dlsched
from contract import (
    METHODS,
    PROVING,
    SOLVING,
    assert_equal,
    assert_not_beaten,
    assert_nothing_false,
    drawn,
    each_method,
    every_problem,
    examples,
    instances,
    methods,
    mutated,
    optimum,
    solved,
    widely,
)
from dlsched.registry import Kind, problem
from dlsched.results.objective import relative_gap

LATE = 60
"""The clock is read so often, at most, after a limit has struck."""


@each_method()
def test_options_have_the_defaults_that_are_listed(name: str, method: str) -> None:
    """What `list_methods` says, given, changes nothing; an option that it lacks is refused."""
    (options,) = [m.options for m in METHODS if (m.problem, m.method) == (name, method)]
    for instance in examples(name)[:2]:
        plain, stated = solved(instance, method), solved(instance, method, **options)
        assert (plain is None) == (stated is None)
        if plain is not None and stated is not None:
            assert (plain.status, plain.objective) == (stated.status, stated.objective)
    with pytest.raises(dlsched.OptionError, match="colour"):
        dlsched.solve(examples(name)[0], method, colour="red")
    for option in options:
        with pytest.raises(dlsched.DlschedError, match=option):
            dlsched.solve(examples(name)[0], method, **{option: object()})


@every_problem
def test_methods_are_found_by_their_names(name: str) -> None:
    """An unknown one is answered with what there is, and with the nearest name."""
    listed = dlsched.list_methods(name)
    assert listed.method.is_unique and all(listed.summary.str.endswith("."))
    assert "exact" in set(listed.kind) and "bound" in set(listed.kind)
    known = listed.method[0]
    with pytest.raises(dlsched.UnknownName, match=known):
        dlsched.solve(examples(name)[0], f"{known}x")


@each_method()
@widely(6, 60)
def test_nothing_false_is_said(name: str, method: str, count: int) -> None:
    """No bound is beaten, no optimum is false, what is infeasible is called so: by brute force."""
    for instance in instances(name, count):
        before = instance.fingerprint()
        for seed in (0, 1)[: 1 + (method not in methods(name, *PROVING))]:
            result = solved(instance, method, seed=seed)
            if result is None:
                continue
            assert_nothing_false(result, optimum(instance))
            if result.solution is not None:
                report = dlsched.verify(instance, result.solution)
                assert report.feasible and report.objective == result.objective
                assert result.solution.instance_sha256 == instance.sha256
            assert instance.fingerprint() == before is not None


@each_method()
def test_the_same_seed_gives_the_same_answer(name: str, method: str) -> None:
    """Solution, bounds and reason; a seed that is no whole number from 0 is refused."""
    instance = drawn(name, 8)[-1]
    first, again = (solved(instance, method, seed=3) for _ in range(2))
    if first is not None and again is not None:
        assert (first.status, first.solution, first.bound) == (
            again.status,
            again.solution,
            again.bound,
        )
    with pytest.raises(dlsched.OptionError, match="seed"):
        dlsched.solve(instance, method, seed=-1)


@every_problem
@widely(3, 40)
def test_exact_has_an_answer_at_once(name: str, count: int) -> None:
    """With no time at all there is a solution if the heuristics have one, and a bound."""
    for instance in instances(name, count):
        result = dlsched.solve(instance, time_limit=1e-9)
        firsts = methods(name, Kind.HEURISTIC)
        found = [solved(instance, method, time_limit=1e-9) for method in firsts]
        if any(r is not None and r.solution is not None for r in found):
            assert result.solution is not None, result.reason


class Ticks:
    """A clock that goes on by a second whenever it is read: work is counted, not time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 0.0
        monkeypatch.setattr("time.perf_counter", self.perf_counter)

    def perf_counter(self) -> float:
        """Return the next second."""
        self.seconds += 1
        return self.seconds


@every_problem
@pytest.mark.parametrize("limit", [30, 60, 120])
def test_exact_has_what_a_third_of_the_limit_gives(
    name: str, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone in such a time, the bound method proves no more, and the heuristic finds no better."""
    for instance in instances(name, 25):
        clock = Ticks(monkeypatch)
        result = dlsched.solve(instance, time_limit=limit)
        assert clock.seconds <= limit + LATE
        for start in problem(name).starts_for(instance)[:1]:
            first = solved(instance, start.name, time_limit=limit / 3)
            if first is not None and first.objective is not None:
                assert result.objective is not None
                assert not first.objective.better_than(result.objective)
        bounds = solved(instance, problem(name).bound, time_limit=limit / 3)
        pairs = [] if bounds is None else zip(bounds.bound.pairs(), result.bound, strict=True)
        for (level, least), bound in pairs if result.status != "optimal" else ():
            if least is None:
                break
            assert bound is not None and not level.better(bound.value, least.value)
            if bound.value != least.value:
                break


@each_method(*PROVING)
@widely(6, 40)
def test_a_limit_is_kept(
    name: str, method: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever it strikes: a checked solution or none with a reason, and bounds that hold."""
    for instance in instances(name, count):
        for limit in (3, 30):
            clock = Ticks(monkeypatch)
            result = solved(instance, method, time_limit=limit)
            assert clock.seconds <= limit + LATE
            if result is not None and optimum(instance) is not None:
                assert_nothing_false(result, optimum(instance))
                assert result.status == "optimal" or result.termination != "proved"


@each_method(*PROVING)
@pytest.mark.parametrize("calls", [1, 3])
def test_ctrl_c_ends_a_call_with_what_there_is(name: str, method: str, calls: int) -> None:
    """At any stage: the result says what holds, and the handler is restored.

    A method that takes no run, and so ends soon, is interrupted like any other code.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        pytest.skip("this process ignores Ctrl-C")
    instance, stages = examples(name)[-1], list[str]()

    def listen(event: dlsched.StageEvent) -> None:
        if event.stage in ("building", "searching"):
            stages.append(event.stage)
            if len(stages) == calls:
                os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    try:
        result = solved(instance, method, on_stage=listen)
    except KeyboardInterrupt:
        result = None
        assert not problem(name).method(method, instance).wants_run
    assert signal.getsignal(signal.SIGINT) is before
    if result is not None:
        assert_nothing_false(result, optimum(instance))


@each_method(*PROVING)
def test_threads_may_change(name: str, method: str) -> None:
    """Optimum and bounds are the same with two threads, one, and two again, or with one first.

    HiGHS keeps its threads for each thread that calls it, so that a new one is as a new process.
    """
    for instance in (examples(name)[0], drawn(name, 5)[-1]):
        found = []
        for order in ((2, 1, 2), (1, 2, 1)):
            with ThreadPoolExecutor(1) as new:
                calls = [new.submit(solved, instance, method, threads=n) for n in order]
                found += [call.result() for call in calls]
        said = {r and (r.status, tuple(r.objective or ()), tuple(r.bound)) for r in found}
        assert len(said) == 1


@each_method(*SOLVING)
def test_a_start_is_used_or_refused_with_a_reason(name: str, method: str) -> None:
    """From an optimal start an exact method ends there; one of another instance is not used."""
    for instance in instances(name, 6):
        best = dlsched.solve(instance).solution
        if best is None:
            continue
        result = solved(instance, method, start=best)
        if result is None or result.start is None:
            continue
        assert result.start.accepted or result.start.reason
        value = optimum(instance)
        assert value is not None
        if result.start.accepted:
            assert result.objective is not None
        if result.status == "optimal":
            assert_equal(result.objective or (), value)
        other = best.model_copy(update={"instance": "another", "instance_sha256": "0" * 64})
        said = dlsched.solve(instance, method, start=other).start
        assert said is not None and not said.accepted and "another" in said.reason


@each_method(Kind.EXACT)
def test_a_start_that_is_no_solution_is_said_to_be(name: str, method: str) -> None:
    """The result says why it was not used, and is that without it."""
    rng, tried = random.Random(name), 0
    for instance in instances(name, 6):
        best = dlsched.solve(instance)
        for _ in range(4 * (best.solution is not None)):
            start = mutated(best.solution.to_data(), rng)
            try:
                feasible = dlsched.verify(instance, start).feasible
            except dlsched.InstanceError:
                continue
            result = None if feasible else solved(instance, method, start=start)
            if result is not None and result.start is not None:
                tried += 1
                assert not result.start.accepted and result.start.reason
                assert result.status == best.status
                if getattr(problem(name).module("model"), "ROUNDED", False):
                    assert_equal(result.objective, best.objective)
                else:
                    assert result.objective == best.objective
    assert tried


LIMITED = [
    (m.problem, m.method, option)
    for m in METHODS
    for option, default in m.options.items()
    if type(default) is int and default > 1 and option != "levels"
]


@pytest.mark.parametrize(("name", "method", "option"), LIMITED)
def test_little_effort_says_nothing_false(name: str, method: str, option: str) -> None:
    """Nodes, rounds, tries and the like may be few: no bound is beaten, no optimum is false."""
    for instance in instances(name, 6):
        for value in (0, 1, 2):
            result = solved(instance, method, **{option: value})
            if result is not None:
                assert_nothing_false(result, optimum(instance))


@each_method(Kind.EXACT)
def test_a_gap_is_kept(name: str, method: str) -> None:
    """A proof within a third leaves a first level that is at most so far from its bound."""
    for instance in instances(name, 6):
        result = solved(instance, method, gap=0.33)
        best = optimum(instance)
        if result is not None and best is not None:
            assert_not_beaten(result.certified, best)
            assert result.objective is not None and result.gap[0] is not None
            assert result.gap[0] <= 0.33 and relative_gap(result.objective[0], best[0]) <= 0.5


LEVELED = [(m.problem, m.method) for m in METHODS if "levels" in m.options]


@pytest.mark.parametrize(("name", "method"), LEVELED)
def test_some_levels_only(name: str, method: str) -> None:
    """The levels asked for are bounded and attained; nothing is claimed of the others."""
    for instance in instances(name, 4):
        best = optimum(instance)
        for levels in range(1, 4):
            if best is None or levels >= len(best):
                continue
            result = solved(instance, method, levels=levels)
            if result is None:
                continue
            assert (result.status, result.termination) == ("feasible", "levels_done")
            assert tuple(result.objective or ())[:levels] == tuple(best)[:levels]
            assert not any(result.gap[:levels])
            later = len(best) - levels
            assert [b is None for b in result.bound] == [False] * levels + [True] * later
    with pytest.raises(dlsched.OptionError, match="levels=0"):
        dlsched.solve(examples(name)[0], method, levels=0)


@every_problem
def test_bound_is_that_of_the_bound_method(name: str) -> None:
    """`dlsched.bound` proves no more than there is, alone or with a method's name."""
    for instance in instances(name, 6):
        best = optimum(instance)
        for method in (None, *methods(name, Kind.BOUND)):
            try:
                bounds = dlsched.bound(instance, method)
            except dlsched.OptionError:
                continue
            if best is not None:
                assert_not_beaten(bounds, best)
                assert bounds[0] is not None


@every_problem
@widely(2, 20)
def test_the_method_does_not_matter(name: str, count: int) -> None:
    """In whatever order methods are called, each says what it says alone."""
    rng, order = random.Random(name), methods(name)
    for instance in drawn(name, count + 5)[5:]:

        def said(method: str, instance: Any = instance) -> Any:
            result = solved(instance, method)
            return result and (result.status, result.objective, result.bound)

        alone = {method: said(method) for method in order}
        rng.shuffle(order)
        assert {method: said(method) for method in order} == alone
