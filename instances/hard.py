"""Hard open instances: those whose gap nobody has closed, with best known solution and bound.

    python instances/hard.py [--seconds S] [NAME ...]

Tries every method named below for so many seconds on each instance (all by default, 120 s), and
keeps what is better than the index has: a solution if the checker says so, a bound if stronger.
`make.py` leaves these lines alone. An instance that is closed here belongs into `make.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer
from make import HERE, entry, named, published, write_index
from rich.console import Console

import dlsched
from dlsched import library
from dlsched.result import Bounds, Objective, closed, gap
from dlsched.schema import Instance, Solution
from dlsched.table import strongest

Recipe = tuple[Callable[[], Instance], tuple[str, ...]]


def made(problem: str, seed: int, **parameters: object) -> Callable[[], Instance]:
    """Return what generates an instance."""
    return lambda: dlsched.generate(problem, seed, **parameters)


OPEN: dict[str, Recipe] = {
    "reclaiming-open-100-scattered": (
        made("reclaiming", 0, servers=100, gpus=64, jobs=200, demand=30, scattered=4),
        ("lyra", "exact"),
    ),
    "reclaiming-open-520-scattered": (
        made("reclaiming", 0, servers=520, gpus=64, jobs=2000, demand=130, scattered=4),
        ("lyra", "exact"),
    ),
    "interleaving-open-128-distinct": (
        made("interleaving", 2, jobs=128),
        ("swap", "column_generation"),
    ),
    "interleaving-open-512-distinct": (
        made("interleaving", 1, jobs=512),
        ("swap", "column_generation"),
    ),
    "utility-open-20x40-even": (
        made("utility", 2, jobs=20, slots=40, gpus=12, mix="even"),
        ("insertion", "dantzig_wolfe", "milp"),
    ),
    "utility-open-60x100-even": (
        made("utility", 1, jobs=60, slots=100, gpus=24, mix="even"),
        ("insertion", "dantzig_wolfe"),
    ),
    "placement-open-200x6x600": (
        made("placement", 1, tables=200, regions=6, jobs=600),
        ("annealing", "lumps"),
    ),
    "placement-open-1000x10x3000": (
        made("placement", 1, tables=1000, regions=10, jobs=3000),
        ("annealing", "lumps"),
    ),
    "sensitivity-open-64-distinct": (
        made("sensitivity", 1, servers=64, multi=True, distinct=True),
        ("tune", "patterns"),
    ),
}
"""Of elastic none is known: the dynamic program proves every size that was tried."""


def improve(name: str, seconds: float) -> dict[str, object]:
    """Try the methods on one instance, write what is best, and return its line in the index."""
    build, methods = OPEN[name]
    instance = published("open", named(name, build()))
    file = HERE / instance.problem / "open" / f"{name}.json.gz"
    solution: Solution | None = None
    objective: Objective | None = None
    bounds: list[Bounds] = []
    found_by = ""
    if name in library.index() and library.index()[name]["sha256"] == instance.sha256:
        old = library.index()[name]
        solution = dlsched.load_solution(library.solution_file(name))
        objective = dlsched.verify(instance, solution).objective
        found_by = old["proof"]["method"]
        bounds.append(library.best_bounds(instance.sha256))
    for method in methods:
        result = dlsched.solve(instance, method, time_limit=seconds, start=solution)
        bounds.append(result.bound)
        if result.objective and (objective is None or result.objective.better_than(objective)):
            solution, objective, found_by = result.solution, result.objective, result.method
    bound = strongest(bounds)
    assert solution is not None and objective is not None and bound is not None
    left = gap(objective, bound)
    status = "optimal" if closed(objective, bound) else "feasible"
    Console(stderr=True).print(f"{name}: {objective} by {found_by}, bound {bound}, gap {left}")
    dlsched.save(instance, file)
    dlsched.save(solution, file.with_name(f"{name}.sol.json.gz"))
    proof = {"method": found_by, "solver": None, "status": status}
    return entry("open", instance, file, False, objective, bound, proof)


def main(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME")] = None,
    seconds: Annotated[float, typer.Option(help="For each method.")] = 120,
) -> None:
    """Improve what the index has of the open instances."""
    for name in names or OPEN:
        lines = {line["name"]: line for line in library.index().values()}
        lines[name] = improve(name, seconds)
        write_index(list(lines.values()))


if __name__ == "__main__":
    typer.run(main)
