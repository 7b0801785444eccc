"""`search` on one variant of each problem: the starts, what it finds, and what `exact` does.

    python benchmarks/variant_search.py [exact seeds]

Without arguments every section; prints markdown and writes it to
benchmarks/figures/variant_search.md. Seconds are processor time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Literal

import pyomo.environ as pyo
from figures import arguments, write
from machine import load

import dlsched
from dlsched import Variant, registry
from dlsched.variants import owner_of

LIMIT = 20.0
"""Seconds of a solve, on the wall."""
SEED_LIMITS = (5.0, 15.0)
"""The same where seeds are compared."""
SEEDS = (0, 1, 2)


def one_in_seven(component: str, limit: int) -> Any:
    """Return a function that limits the sum of every seventh variable."""

    def constrain(m: Any, instance: Any) -> None:
        chosen = list(m.component(component).values())[::7]
        m.seventh = pyo.Constraint(expr=sum(chosen) <= limit)

    return constrain


CASES: dict[str, tuple[Any, str]] = {
    "reclaiming": (lambda: dlsched.load("reclaiming-520-130"), "x"),
    "elastic": (lambda: dlsched.generate("elastic", seed=0, jobs=2000), "x"),
    "workers": (
        lambda: dlsched.generate("workers", seed=0, training=60, loan=60, jobs=120),
        "y",
    ),
    "interleaving": (lambda: dlsched.generate("interleaving", seed=1, jobs=32), "x"),
    "utility": (lambda: dlsched.generate("utility", seed=0, jobs=20, slots=20), "z"),
    "sensitivity": (lambda: dlsched.generate("sensitivity", seed=0, servers=8), "y"),
    "placement": (
        lambda: dlsched.generate("placement", seed=1, tables=20, regions=4, jobs=40),
        "x",
    ),
    "dispatch": (lambda: dlsched.generate("dispatch", seed=1, pending=15), "x"),
}
"""An instance of each problem, and a family of variables of which every seventh is limited."""


def variant_of(instance: Any, component: str) -> Variant:
    """Return the variant, which the first start violates."""
    owner = registry.problem(instance.problem)
    start = dlsched.solve(instance, owner.starts_for(instance)[0].name, time_limit=20)
    plain = owner_of(instance, Variant(instance.problem, "plain")).module("model")
    model = plain.build(instance)
    plain.assign(instance, model, start.solution)
    used = sum(v.value for v in list(model.component(component).values())[::7])
    return Variant(instance.problem, "seventh", one_in_seven(component, int(0.4 * used)))


def timed(
    instance: Any, method: Literal["search", "exact"], variant: Variant, limit: float, seed: int = 0
) -> tuple[list[str], Any]:
    """Return the cells of a method, its value and its processor seconds, and the result."""
    began = time.process_time()
    result = dlsched.solve(instance, method, variant=variant, time_limit=limit, seed=seed)
    spent = time.process_time() - began
    found = result.objective
    text = "none" if found is None else ", ".join(f"{float(v):.6g}" for v in found)
    return [text, f"{spent:.1f}"], result


def against_exact() -> Iterator[str]:
    """Yield a row for each problem."""
    yield "## Search and exact\n"
    yield (
        "A variant of one instance of each problem: of every seventh variable of a family at most "
        "two fifths of what\nthe first start uses, so that the start violates it. Values are the "
        "levels in their order; seconds are processor time.\n"
        f"Limit {LIMIT:g} s on the wall, seed 0; {load()}.\n"
    )
    yield "| problem | instance | `search` | s | `exact` | s | status of `exact` | better |"
    yield "|---|---|---|---|---|---|---|---|"
    for problem, (make, component) in CASES.items():
        instance = make()
        variant = variant_of(instance, component)
        mine, found = timed(instance, "search", variant, LIMIT)
        other, exact = timed(instance, "exact", variant, LIMIT)
        cells = [problem, f"`{instance.name}`", *mine, *other, str(exact.status)]
        yield f"| {' | '.join([*cells, better_of(found, exact)])} |"


def better_of(search: Any, exact: Any) -> str:
    """Return which of two results is better."""
    if search.objective is None or exact.objective is None:
        return "-" if search.objective is exact.objective else "the one that has a solution"
    if search.objective.better_than(exact.objective):
        return "`search`"
    return "`exact`" if exact.objective.better_than(search.objective) else "equal"


def by_seed() -> Iterator[str]:
    """Yield what seeds change where the search is not over soon."""
    make, component = CASES["utility"]
    instance = make()
    variant = variant_of(instance, component)
    yield "## Seeds of search\n"
    yield (
        f"The same variant of utility, `{instance.name}`: values of `search` by its seed; "
        f"{load()}.\n"
    )
    yield f"| limit, s | {' | '.join(f'seed {seed} | s' for seed in SEEDS)} |"
    yield "|---" * (1 + 2 * len(SEEDS)) + "|"
    for limit in SEED_LIMITS:
        cells = [timed(instance, "search", variant, limit, seed)[0] for seed in SEEDS]
        yield f"| {limit:g} | {' | '.join(' | '.join(pair) for pair in cells)} |"


SECTIONS = {"exact": against_exact, "seeds": by_seed}

if __name__ == "__main__":
    write("variant_search", SECTIONS, arguments())
