"""The worst small instance found for each heuristic and baseline.

    python benchmarks/worst_cases.py [PROBLEM ...]

Prints markdown and writes it to figures/worst_cases.md. Deterministic, but for the time it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from figures import arguments, cell, write

import dlsched
from dlsched.registry import Kind, problem
from dlsched.testing import worst_case
from dlsched.testing.strategies import reclaiming
from dlsched.testing.trials import Broken

BUDGET = 1500
FORKING = (("utility", "forked"), ("utility", "hadare"))
"""Have no solution for the strategy's gang jobs."""
SLOW = {("placement", "annealing"): 40, ("utility", "insertion"): 200}
"""Budgets where a call takes long."""
DRAWN = {"reclaiming": partial(reclaiming, max_servers=8, max_jobs=8, weighted=False)}
"""Strategies other than the problem's own. Lyra knows no weights: every job counts 1."""


def section(name: str) -> Iterator[str]:
    """Yield a problem's rows."""
    yield f"## {name}\n"
    yield "Small random instances, moved towards larger gaps, then shrunk; level 1, its optimum not"
    yield "0. Items are servers, machines, tables and jobs."
    if name in DRAWN:
        yield "Every job has a weight of 1, as in the paper."
    yield ""
    yield "| method | tried | gap | value | optimum | items | instance |\n|" + "---|" * 7
    for method in problem(name).methods.values():
        if method.kind not in (Kind.HEURISTIC, Kind.BASELINE) or ((name, method.name) in FORKING):
            continue
        budget, drawn = SLOW.get((name, method.name), BUDGET), DRAWN.get(name)
        try:
            found = worst_case(
                name, method.name, budget, level=0, positive=True, instances=drawn and drawn()
            )
        except Broken as broken:
            yield f"| {method.name} | {broken} | | | | | |"
            continue
        if found is None:
            yield f"| {method.name} | solved nothing | | | | | |"
            continue
        data = found.instance
        parts = (getattr(data, part, None) for part in ("servers", "machines", "tables", "jobs"))
        items = sum(len(part) for part in parts if isinstance(part, tuple))
        text = data.model_dump_json(exclude_defaults=True, exclude={"name"})
        value, optimum = float(found.objective[0]), float(found.optimum[0])
        yield (
            f"| {method.name} | {found.tried} | {cell(found.gap)} | {value:.4g} "
            f"| {optimum:.4g} | {items} | `{text}` |"
        )


SECTIONS: dict[str, Callable[[], Iterator[str]]] = {
    name: partial(section, name) for name in dlsched.list_problems()
}

if __name__ == "__main__":
    write("worst_cases", SECTIONS, arguments())
