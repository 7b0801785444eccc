"""What the tests of the contract share: every problem's instances, and what may not be said."""

import copy
import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import dlsched
from dlsched.registry import Kind, problem
from dlsched.results.objective import Objective, relative_gap
from dlsched.testing import oracles

PROBLEMS = dlsched.list_problems()


class Listed(NamedTuple):
    """A row of `dlsched.list_methods`, with the problem's name."""

    problem: str
    method: str
    kind: Kind
    options: dict[str, Any]


METHODS = [
    Listed(name, row["method"], Kind(row["kind"]), row["options"])
    for name in PROBLEMS
    for row in dlsched.list_methods(name).to_dict("records")
]
PROVING = (Kind.EXACT, Kind.BOUND)
SOLVING = (Kind.EXACT, Kind.HEURISTIC, Kind.BASELINE)
SLACK = {"certified": 0.0, "certified to nine digits": 1e-9, "claimed": 1e-6}
"""By how much, relatively, a right bound of each kind may be beaten."""
Path = tuple[str | int, ...]
every_problem = pytest.mark.parametrize("name", PROBLEMS)


def methods(name: str, *kinds: Kind) -> list[str]:
    """Return the names of a problem's methods of these kinds, or of all."""
    return [m.method for m in METHODS if m.problem == name and (not kinds or m.kind in kinds)]


def each_method(*kinds: Kind) -> pytest.MarkDecorator:
    """Parametrize a test over the problems and their methods of these kinds, or of all."""
    rows = [(name, method) for name in PROBLEMS for method in methods(name, *kinds)]
    return pytest.mark.parametrize(("name", "method"), rows)


def widely(few: int, many: int) -> pytest.MarkDecorator:
    """Parametrize a test over a few draws in each run, and many with the slow tests."""
    rows = [few, pytest.param(many, marks=pytest.mark.slow)]
    return pytest.mark.parametrize("count", rows)


@cache
def examples(name: str) -> list[Any]:
    """Return the examples of a problem's generator."""
    found: list[Any] = problem(name).module("generate").examples()
    return found


@cache
def drawn(name: str, count: int) -> list[Any]:
    """Return so many instances of the problem's strategy, alike in every run."""
    module = problem(name).module("strategy")
    variations = getattr(module, "VARIATIONS", ({},))
    found: list[Any] = []

    @settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.one_of([module.instances(**options) for options in variations]))
    def collect(instance: Any) -> None:
        found.append(instance)

    collect()
    return found


def instances(name: str, count: int) -> list[Any]:
    """Return the examples and so many drawn instances."""
    return [*examples(name), *drawn(name, count)]


@cache
def optimum(instance: Any) -> Objective | None:
    """Return the optimum by brute force."""
    found: Objective | None = getattr(oracles, instance.problem)(instance)
    return found


def solved(instance: Any, method: str = "exact", **options: Any) -> dlsched.Result | None:
    """Return a method's result, or None where the method is not for the instance."""
    try:
        return dlsched.solve(instance, method, **options)
    except dlsched.OptionError:
        assert method != "exact", "the problem's choice takes every instance"
        return None


def assert_nothing_false(result: dlsched.Result, best: Objective | None) -> None:
    """Assert that a result says nothing that the optimum shows to be false."""
    if best is None:
        assert result.solution is None and result.status in ("infeasible", "no solution")
        return
    assert result.status not in ("infeasible", "unbounded"), result.reason
    for bounds in (result.bound, result.certified):
        assert_not_beaten(bounds, best)
    if result.objective is None:
        assert result.status == "no solution" and result.reason
        return
    assert_not_better(result.objective, best)
    if result.status == "optimal":
        assert_equal(result.objective, best)


def assert_not_better(found: Objective, best: Objective) -> None:
    """Assert that an objective is no better; that of shares is known to 15 digits, by Newton."""
    near = best.levels[0].name == "value" and relative_gap(found[0], best[0]) <= 1e-15
    assert near or not found.better_than(best), (found, best)


def assert_not_beaten(bounds: Sequence[Any], best: Objective) -> None:
    """Assert that an optimum is no better than bounds; each holds where the earlier are met."""
    for (level, value), bound in zip(best.pairs(), bounds, strict=True):
        if bound is None:
            return
        beaten = level.better(value, bound.value)
        assert not beaten or relative_gap(value, bound.value) <= SLACK[bound.kind], (bounds, best)
        if value != bound.value:
            return


def assert_equal(found: Sequence[Any], best: Sequence[Any]) -> None:
    """Assert that two objectives agree to nine digits at the first level where they differ."""
    for mine, value in zip(found, best, strict=True):
        assert relative_gap(mine, value) <= 1e-9, (found, best)
        if mine != value:
            return


def places(data: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every value in JSON data with its path."""
    if path:
        yield path, data
    if isinstance(data, (dict, list)):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from places(value, (*path, key))


def at(data: Any, path: Path) -> Any:
    """Return the value at a path."""
    for step in path:
        data = data[step]
    return data


def changed(data: Any, path: Path, change: Callable[[Any, Any], object]) -> Any:
    """Return a copy of JSON data after a change of what holds the value at a path."""
    document = copy.deepcopy(data)
    change(at(document, path[:-1]), path[-1])
    return document


def with_value(data: Any, path: Path, value: Any) -> Any:
    """Return a copy of JSON data with another value at a path."""
    return changed(data, path, lambda parent, key: parent.__setitem__(key, value))


def spelled(path: Path) -> str:
    """Return a path as errors write it: ``jobs[0].workers[1].server``."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def field(path: Path) -> Path:
    """Return a path without positions in lists: the same field of another entry."""
    return tuple("*" if isinstance(step, int) else step for step in path)


def ids(data: Any) -> set[str]:
    """Return what is called ``id`` in a document."""
    return {value for path, value in places(data) if path[-1] == "id"}


LABELS = ("dlsched", "problem", "instance", "instance_sha256", "method")
"""Fields of a solution's document that say what it is."""


def alike(other: Path, path: Path) -> bool:
    """Whether two paths are of one field: of entries of a list, or of a map of the document."""
    of_map = len(path) == len(other) == 2 and isinstance(path[1], str)
    return field(other) == field(path) or (of_map and other[0] == path[0])


def mutated(data: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return a solution's data with one to three entries dropped, doubled, moved or changed."""
    for _ in range(rng.randint(1, 3)):
        found = [path for path, _ in places(data) if path[0] not in LABELS]
        if not found:
            return data
        path = rng.choice(found)
        others = [value for other, value in places(data) if alike(other, path)]

        def change(parent: Any, key: Any, others: Any = others) -> None:
            kind = rng.randrange(4)
            if kind == 0:
                parent.pop(key)
            elif kind == 1 and isinstance(parent, list):
                parent.append(parent[key])
            elif kind == 2 and type(parent[key]) in (int, float):
                parent[key] += rng.choice([-1, 1])
            else:
                parent[key] = rng.choice(others)

        data = changed(data, path, change)
    return data
