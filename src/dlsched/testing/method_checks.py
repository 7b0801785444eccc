"""The checks of `check_problem` for methods: optima, bounds, invariance, limits and starts."""

from collections.abc import Callable
from typing import Any

from hypothesis.errors import Unsatisfiable

from dlsched.api.evaluation import evaluate_claim
from dlsched.errors import OptionError
from dlsched.registry import Kind, Method, Problem, call
from dlsched.results.claims import beaten_level
from dlsched.results.objective import SOLVER_PRECISION, Objective, relative_gap
from dlsched.results.result import Result, Status, Termination
from dlsched.run import Run
from dlsched.schema.envelope import Instance
from dlsched.testing.heuristic import check_heuristic
from dlsched.testing.search import Finding
from dlsched.testing.subject import NothingToCheck, Subject, require
from dlsched.testing.transformations import renamed, reordered
from dlsched.testing.trials import Broken, gap_to, precision_of

_PROVED = (Termination.PROVED, Termination.CLAIMED)
"""How an exact method ends that states an optimum; another package's only claims it."""


def infeasible(subject: Subject) -> Finding | None:
    """An instance without a solution is called infeasible, with the reason, by every method."""

    def check(instance: Instance) -> None:
        if subject.optimum(instance) is not None:
            why = subject.problem.explain(instance)
            require(not why, f"explain says {why!r} of an instance that has a solution")
            return
        for result in subject.solve(instance, Kind.EXACT):
            infeasible = result.status is Status.INFEASIBLE
            require(infeasible, f"{result.method} says {result.status}; there is no solution")
            require(result.reason, f"{result.method} gives no reason")

    for instance in subject.stated("infeasible", list)():
        require(subject.optimum(instance) is None, f"{instance.name} has a solution")
        check(instance)
    return subject.each(check)


def exact(subject: Subject) -> Finding | None:
    """Every exact method proves the optimum that brute force finds."""

    def check(instance: Instance) -> None:
        optimum = subject.optimum(instance)
        for result in subject.solve(instance, Kind.EXACT):
            said = f"{result.method} says {result.status}: {result.reason}"
            if optimum is None:
                require(result.status is Status.INFEASIBLE, f"{said}; there is no solution")
                continue
            require(result.status is Status.OPTIMAL, f"{said}; the optimum is {optimum}")
            ended = result.termination
            require(ended in _PROVED, f"{result.method} ended with {ended}")
            _require_equal(result.method, result.objective, optimum)

    return subject.each(check)


def _require_equal(name: str, mine: Objective, optimum: Objective) -> None:
    for (level, best), value in zip(optimum.pairs(), mine, strict=True):
        near = relative_gap(best, value) <= SOLVER_PRECISION
        require(near, f"{name} finds {level.name} = {value}, the optimum is {best}")


def heuristics(subject: Subject) -> Finding | None:
    """Every heuristic and baseline passes `check_heuristic`."""
    methods = subject.methods(Kind.HEURISTIC, Kind.BASELINE)
    if not methods:
        raise NothingToCheck
    for method in methods:

        def takes(instance: Instance, method: Method = method) -> bool:
            try:
                call(method, instance, Run(), {})
            except OptionError:
                return False
            return True

        drawn = subject.instances().filter(takes)
        try:
            report = check_heuristic(
                subject.problem.name,
                method.name,
                examples=subject.examples,
                instances=drawn,
            )
        except Unsatisfiable as error:
            message = f"{method.name} takes no drawn instance: add options to VARIATIONS"
            raise Broken("conformance", message) from error
        if report.findings:
            first = report.findings[0]
            return Finding(first.kind, f"{method.name}: {first.message}", first.instance)
    return None


def bounds(subject: Subject) -> Finding | None:
    """No optimum beats a bound, be it certified or claimed, of any method that proves bounds."""

    def check(instance: Instance) -> None:
        optimum = subject.optimum(instance)
        if optimum is not None:
            for result in subject.solve(instance, Kind.BOUND, Kind.EXACT):
                _require_bounds(result, optimum)

    return subject.each(check)


def _require_bounds(result: Result, optimum: Objective) -> None:
    for stated in (result.bound, result.certified):
        beaten = beaten_level(stated, optimum)
        require(
            beaten is None, f"{result.method} has the bounds {stated}, the optimum is {optimum}"
        )


def renaming(subject: Subject) -> Finding | None:
    """Other names do not change the optimum."""
    return _invariant(subject, renamed)


def order(subject: Subject) -> Finding | None:
    """The order of the lists in a file does not change the optimum, but where it decides ties."""
    return _invariant(subject, reordered)


def _invariant(subject: Subject, transformation: Callable[[Instance], Instance]) -> Finding | None:
    def check(instance: Instance) -> None:
        other = transformation(instance)
        before = subject.solve(instance, Kind.EXACT)
        after = subject.solve(other, Kind.EXACT)
        for first, second in zip(before, after, strict=True):
            mine = first.objective
            theirs = second.objective
            require((mine is None) == (theirs is None), f"{first.method}: {mine}, then {theirs}")
            if mine is not None:
                _require_equal(first.method, mine, theirs)

    return subject.each(check)


def deterministic(subject: Subject) -> None:
    """On one thread, every method gives the same answer for the same seed."""
    instance = subject.example()

    def answers() -> dict[str, tuple[Any, ...]]:
        results = subject.solve(instance, *Kind, seed=3)
        return {r.method: (r.status, r.solution, r.objective, r.bound) for r in results}

    first = answers()
    again = answers()
    different = [name for name, said in first.items() if again[name] != said]
    require(not different, f"with seed 3 these differ from one run to the next: {different}")


def limits(subject: Subject) -> Finding | None:
    """A limit or an interrupt raises nothing, and what is then stated holds."""

    def check(instance: Instance) -> None:
        optimum = subject.optimum(instance)
        results = subject.solve(instance, Kind.EXACT, Kind.BOUND, time_limit=1e-9)
        if not subject.problem.explain(instance):
            methods = [subject.problem.methods[r.method] for r in results]
            results += [_interrupted(subject.problem, method, instance) for method in methods]
        for result in results:
            if optimum is None:
                require(result.solution is None, f"{result.method} solves what has no solution")
                continue
            _require_bounds(result, optimum)
            require(result.status is not Status.INFEASIBLE, f"{result.method} says infeasible")
            if result.status is Status.OPTIMAL:
                _require_equal(result.method, result.objective, optimum)
                ended = result.termination
                require(ended in _PROVED, f"{result.method} says optimal and {ended}")

    return subject.each(check)


def _interrupted(problem: Problem, method: Method, instance: Instance) -> Result:
    """Return the result of a run that is interrupted from the beginning."""
    run = Run()
    run.interrupted = True
    claim = call(method, instance, run, {})
    return evaluate_claim(problem, instance, method, claim, run, {}, trusted=method.own)


def warm_start(subject: Subject) -> Finding | None:
    """Every method reports on a start, and its solution is no worse than the start."""

    def check(instance: Instance) -> None:
        for start in subject.feasible(instance)[:1]:
            given = subject.problem.check(instance, start).objective
            assert given is not None
            stopped = subject.solve(instance, Kind.EXACT, start=start, time_limit=1e-9)
            solved = subject.solve(instance, Kind.EXACT, start=start)
            for result in stopped + solved:
                require(result.start, f"{result.method} does not report on the start")
            for result in solved:
                worse = given.better_than(result.objective)
                worse &= gap_to(given, result.objective) > precision_of(subject.problem)
                require(not worse, f"{result.method}: {result.objective} from {given}")

    return subject.each(check)
