"""`search` on one variant of each problem: the starts, what it finds, and what `exact` does.

Run ``python benchmarks/variant_search.py [--limit S] [PROBLEM...]`` for the table of
benchmarks/figures/studies.md. Seconds are processor time.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import pyomo.environ as pyo

import dlsched
from dlsched import Variant, registry
from dlsched.variants import owner_of


def one_in_seven(component: str) -> Any:
    """Return a function that allows 40 % of what a start uses of every seventh variable."""

    def constrain(m: Any, instance: Any) -> None:
        chosen = list(m.component(component).values())[::7]
        m.seventh = pyo.Constraint(expr=sum(chosen) <= LIMITS[instance.problem])

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
LIMITS: dict[str, int] = {}
"""By problem what these may sum to: two fifths of the sum at the first start."""


def variant_of(instance: Any, component: str) -> Variant:
    """Return the variant, which the first start violates."""
    owner = registry.problem(instance.problem)
    plain = Variant(instance.problem, "plain")
    start = dlsched.solve(instance, owner.starts_for(instance)[0].name, time_limit=20)
    changed = owner_of(instance, plain)
    model = changed.module("model").build(instance)
    changed.module("model").assign(instance, model, start.solution)
    used = sum(v.value for v in list(model.component(component).values())[::7])
    LIMITS[instance.problem] = int(0.4 * used)
    return Variant(instance.problem, "seventh", one_in_seven(component))


def main() -> None:
    """Print a row for each problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", default=list(CASES))
    parser.add_argument("--limit", type=float, default=60.0)
    given = parser.parse_args()
    print("| problem | `search` | s | `exact` | s | status of `exact` |")
    print("|---|---|---|---|---|---|")
    for problem in given.problems:
        make, component = CASES[problem]
        instance = make()
        variant = variant_of(instance, component)
        cells = [problem]
        for method in ("search", "exact"):
            began = time.process_time()
            result = dlsched.solve(instance, method, variant=variant, time_limit=given.limit)
            spent = time.process_time() - began
            found = result.objective
            text = "none" if found is None else ", ".join(f"{float(v):.6g}" for v in found)
            cells += [text, f"{spent:.1f}"]
        print(f"| {' | '.join([*cells, str(result.status)])} |", flush=True)


if __name__ == "__main__":
    main()
