"""Compare every method with brute force on random small instances of every problem.

Usage::

    python benchmarks/fuzz.py [PROBLEM ...] [--instances 20000] [--seed 1] [--jobs 2] [--hostile]
                              [-o FOLDER]

The instances are drawn from the problems' Hypothesis strategies; in half of them the quantities of
one kind (weights, times, sizes, rates) are multiplied by a power of ten from 1e-9 to 1e9. A method
disagrees with brute force if it raises an exception, is exact but does not prove optimality,
proves an optimum that differs by more than the stated gap, states a bound that the optimum beats,
returns a better objective, or is wrong about infeasibility. Each disagreement is printed and its
instance is written to a file. References are left out.

With ``--hostile`` one to three of an instance's fields, of all that take decimals, are changed
instead: other units, from 1e-9 to 1e15 times; numbers of 17 digits; all equal; or all equal but for
the last digits of a double. An exact method may then say that it proves nothing, which is counted
("held back").
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from rich.progress import track

import dlsched
from dlsched.registry import Kind, Problem, problem, problem_names
from dlsched.results.objective import Objective, relative_gap
from dlsched.results.result import Result, Status

CHUNK = 100
LIMIT = 20.0
"""Seconds for one method on one instance."""
ROUNDED = 2.0**-60
"""Relative difference up to which two values are the same: sums of many fractions are rounded."""
PROVED = 3e-9
"""Relative gap up to which a level without granularity counts as proved."""

Data = dict[str, Any]


def _product(value: Any, factor: Fraction) -> Any:
    return float(Fraction(repr(value)) * factor) if value else value


def _entries(data: Data, path: str) -> Iterator[tuple[Any, Any]]:
    """Yield (container, key) of every entry at a path such as ``jobs.*.rates.*``."""
    places: list[tuple[Any, Any]] = [({"": data}, "")]
    for step in path.split("."):
        inner = [container[key] for container, key in places if key in _keys(container)]
        places = [
            (entry, key)
            for entry in inner
            if entry is not None
            for key in (_keys(entry) if step == "*" else [step])
            if key in _keys(entry)
        ]
    yield from places


def _keys(container: Any) -> Any:
    return list(container) if isinstance(container, dict) else range(len(container))


def multiplied(instance: dlsched.Instance, which: int, exponent: int) -> dlsched.Instance:
    """Return the instance with one kind of quantity multiplied by a power of ten."""
    data, factor = instance.to_data(), Fraction(10) ** exponent
    groups = problem(instance.problem).module("library").QUANTITIES
    for path in groups[which % len(groups)]:
        for container, key in _entries(data, path):
            container[key] = _product(container[key], factor)
    return dlsched.load(data)


def leaves(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    """Yield (field, container, key) of each number; positions in lists are ``*`` in a field."""
    for key in _keys(data):
        value, field = data[key], (*path, "*" if isinstance(data, list) else key)
        if isinstance(value, (dict, list)):
            yield from leaves(value, field)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield field, data, key


def continuous_fields(instance: dlsched.Instance) -> list[tuple[Any, ...]]:
    """Return the fields with numbers that may be decimals."""
    fields = sorted({field for field, _, _ in leaves(instance.to_data())}, key=str)
    return [field for field in fields if _changed(instance, field, lambda _, value: value + 0.5)]


def _changed(
    instance: dlsched.Instance, field: tuple[Any, ...], new: Callable[[int, Any], Any]
) -> dlsched.Instance | None:
    """Return the instance with ``new(i, value)`` in a field, or nothing if it refuses that."""
    data = instance.to_data()
    places = [(container, key) for own, container, key in leaves(data) if own == field]
    for i, (container, key) in enumerate(places):
        container[key] = new(i, container[key])
    try:
        return dlsched.load(data)
    except dlsched.InstanceError:
        return None


def _change(rng: np.random.Generator, first: Any) -> Callable[[int, Any], Any]:
    """Draw a function that gives a new value for the one at a position of a field."""
    exponent, digits = int(rng.integers(-9, 16)), rng.uniform(0.5, 1.5, 1000)
    changes: list[Callable[[int, Any], Any]] = [
        lambda i, value: _product(value, Fraction(10) ** exponent),
        lambda i, value: value * float(digits[i % len(digits)]),
        lambda i, value: first,
        lambda i, value: first * (1 + (i % 3) * 2.0**-52),
    ]
    return changes[rng.integers(len(changes))]


def hostile(instance: dlsched.Instance, rng: np.random.Generator) -> dlsched.Instance:
    """Return the instance with one to three of its fields changed; see the top of this file."""
    fields = continuous_fields(instance)
    for _ in range(int(rng.integers(1, 4)) if fields else 0):
        field = fields[rng.integers(len(fields))]
        first = next(box[key] for own, box, key in leaves(instance.to_data()) if own == field)
        instance = _changed(instance, field, _change(rng, first)) or instance
    return instance


def findings(owner: Problem, instance: dlsched.Instance, hold_back: bool = False) -> Iterator[str]:
    """Yield disagreements, one sentence each, and "refused by X" for an `OptionError`.

    With `hold_back` an exact method that proves nothing is "held back by X", and no disagreement.
    """
    best = owner.module("oracle").brute_force(instance)
    for name, method in owner.methods.items():
        if method.kind is Kind.REFERENCE:
            continue
        try:
            result = dlsched.solve(instance, name, time_limit=LIMIT)
        except dlsched.OptionError:
            yield f"refused by {name}"
            continue
        except Exception as error:  # whatever a method raises is a finding
            yield f"{name}: {type(error).__name__}: {str(error)[:200]}"
            continue
        for sentence in _disagreements(result, best, method.kind):
            held = hold_back and sentence.startswith("not proved")
            yield f"held back by {name}" if held else f"{name}: {sentence}"


def _disagreements(result: Result, best: Objective | None, kind: Kind) -> Iterator[str]:
    if best is None:
        if result.solution is not None or (kind is Kind.EXACT and result.status != "infeasible"):
            yield f"{result.status} where brute force finds no solution"
        return
    if result.status is Status.INFEASIBLE:
        yield "infeasible where brute force finds a solution"
        return
    if kind is Kind.EXACT and result.status is not Status.OPTIMAL:
        yield f"not proved: {result.reason}"
    for (level, value), bound in zip(best.pairs(), result.bound, strict=True):
        if bound is not None and level.better(value, bound.value):
            yield f"bound {level.name} = {bound} is beaten by {float(value)}"
        if bound is None or bound.value != value:
            break
    if result.objective is not None and _better(result.objective, best):
        yield f"{result.objective} is better than brute force's {best}"
    if result.status is Status.OPTIMAL and _off(result, best):
        yield f"optimal at {result.objective}, gap {result.gap}, brute force {best}"


def _better(found: Objective, best: Objective) -> bool:
    """Whether an objective is better by more than a definition's own rounding (interleaving)."""
    differing = [pair for pair in zip(found, best, strict=True) if pair[0] != pair[1]]
    return found.better_than(best) and relative_gap(*differing[0]) > ROUNDED


def _off(result: Result, best: Objective) -> bool:
    """Whether an optimal solution is further from the optimum than the stated gap."""
    for value, optimum, stated in zip(result.objective or (), best, result.gap, strict=True):
        if value != optimum:
            return relative_gap(value, optimum) > (
                PROVED if stated is None else min(stated, PROVED)
            )
    return False


def chunk(
    name: str, number: int, count: int, first: int, attack: bool, folder: Path
) -> Counter[str]:
    """Draw and check one chunk of instances; return counts of instances and of disagreements."""
    owner, found = problem(name), Counter[str]()
    scalable = owner.has_module("library")
    strategy: Callable[[], Any] = owner.module("strategy").instances

    @seed(first * 1_000_003 + number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy(), st.integers(0, 5), st.sampled_from([0] * 8 + [-9, -7, -6, -3, 3, 6, 7, 9]))
    def draw(instance: dlsched.Instance, which: int, exponent: int) -> None:
        found["instances"] += 1
        try:
            scaled = multiplied(instance, which, exponent) if exponent and scalable else instance
        except dlsched.InstanceError:
            scaled = instance  # out of the range of numbers
        if attack:
            scaled = hostile(instance, np.random.default_rng([first, number, found["instances"]]))
        for sentence in findings(owner, scaled, attack):
            kind = sentence.partition(":")[0]
            found[kind] += 1
            if kind != sentence:
                label = f"{name}-{number}-{found['instances']}"
                print(f"{label}: {sentence}", flush=True)
                dlsched.save(scaled.model_copy(update={"name": label}), folder / f"{label}.json")

    draw()
    return found


def main(
    problems: Annotated[list[str] | None, typer.Argument(help="All by default.")] = None,
    instances: Annotated[int, typer.Option(help="Over all problems together.")] = 20_000,
    first: Annotated[int, typer.Option("--seed")] = 1,
    jobs: int = 2,
    attack: Annotated[bool, typer.Option("--hostile")] = False,
    output: Annotated[Path, typer.Option("-o")] = Path("results/fuzz"),
) -> None:
    """Draw instances, solve each with every method, and count the disagreements."""
    output.mkdir(parents=True, exist_ok=True)
    names = list(problems or problem_names())
    share = -(-instances // len(names))
    sizes = [min(CHUNK, share - start) for start in range(0, share, CHUNK)]
    began = time.perf_counter()
    totals = {name: Counter[str]() for name in names}
    with ProcessPoolExecutor(jobs) as pool:
        runs = [
            (name, pool.submit(chunk, name, i, size, first, attack, output))
            for i, size in enumerate(sizes)
            for name in names
        ]
        for name, run in track(runs, description="chunks"):
            totals[name] += run.result()
    for name, found in totals.items():
        print(f"{name}: {', '.join(f'{count} {what}' for what, count in found.most_common())}")
    wrong = sum(
        count
        for found in totals.values()
        for what, count in found.items()
        if what != "instances" and not what.startswith(("refused", "held back"))
    )
    print(f"{wrong} disagreements, {time.perf_counter() - began:.0f} s")
    raise typer.Exit(1 if wrong else 0)


if __name__ == "__main__":
    typer.run(main)
