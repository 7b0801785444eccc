"""The worst small instance found for each heuristic and baseline.

    python benchmarks/worst_cases.py [PROBLEM ...]

Prints markdown and writes it to figures/worst_cases.md. Deterministic, but for the time it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from figures import arguments, cell, write

import dlsched
from dlsched.problem import Kind, problem
from dlsched.testing import worst_case
from dlsched.testing.trials import Broken

BUDGET = 1500
SKIPPED = {("utility", "hadare"): "for forking jobs only"}


def section(name: str) -> Iterator[str]:
    """Yield a problem's rows."""
    yield f"## {name}\n"
    yield f"{BUDGET} instances tried, then shrunk; optimum at level 1 other than 0.\n"
    yield "| method | gap | value | optimum | items | instance |\n|---|---|---|---|---|---|"
    for method in problem(name).methods.values():
        if method.kind not in (Kind.HEURISTIC, Kind.BASELINE) or (name, method.name) in SKIPPED:
            continue
        try:
            found = worst_case(name, method.name, BUDGET, level=0, positive=True)
        except Broken as broken:
            yield f"| {method.name} | {broken} | | | | |"
            continue
        if found is None:
            yield f"| {method.name} | solved nothing | | | | |"
            continue
        data = found.instance
        parts = (getattr(data, part, None) for part in ("servers", "machines", "tables", "jobs"))
        items = sum(len(part) for part in parts if isinstance(part, tuple))
        text = data.model_dump_json(exclude_defaults=True, exclude={"name"})
        yield (
            f"| {method.name} | {cell(found.gap)} | {float(found.objective[0]):.4g} "
            f"| {float(found.optimum[0]):.4g} | {items} | `{text}` |"
        )


SECTIONS: dict[str, Callable[[], Iterator[str]]] = {
    name: partial(section, name) for name in dlsched.problems()
}

if __name__ == "__main__":
    write("worst_cases", SECTIONS, arguments())
