"""Open instances: those whose gap is not closed, with best known solution and bound.

    python instances/hard.py [--seconds S] [NAME ...]

The instances are the entries of kind ``open`` in each problem's module ``library``. Each method
named there runs for S seconds (120 by default) on each instance (all by default); a solution that
the checker confirms and a bound replace those of the index if they are better. `make.py` leaves
these lines as they are. An instance that is closed here becomes one of another kind.
"""

from typing import Annotated

import typer
from make import HERE, index_line, make, published, write_index
from rich.console import Console

import dlsched
from dlsched import library
from dlsched.display.table import strongest
from dlsched.library import LibraryEntry
from dlsched.registry import BUILT_IN, problem
from dlsched.results.objective import Bounds, Objective, closed, gap
from dlsched.schema import Solution


def open_entries() -> dict[str, tuple[str, LibraryEntry]]:
    """Return ``{name: (problem, entry)}`` of the open instances."""
    return {
        entry.name: (name, entry)
        for name in BUILT_IN
        for entry in problem(name).module("library").ENTRIES
        if entry.kind == "open"
    }


def improve(name: str, seconds: float) -> dict[str, object]:
    """Run the methods on one instance, write the best result, and return its line in the index."""
    owner, entry = open_entries()[name]
    instance = published("open", make(owner, entry))
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
    for method in entry.methods:
        result = dlsched.solve(instance, method, time_limit=seconds, start=solution)
        bounds.append(result.bound)
        if result.objective and (objective is None or result.objective.better_than(objective)):
            solution, objective, found_by = result.solution, result.objective, result.method
    bound = strongest(bounds)
    assert solution is not None and objective is not None and bound is not None
    left = gap(objective, bound)
    status = "optimal" if closed(objective, bound) else "feasible"
    Console(stderr=True).print(f"{name}: {objective} by {found_by}, bound {bound}, gap {left}")
    file.parent.mkdir(exist_ok=True)
    dlsched.save(instance, file)
    dlsched.save(solution, file.with_name(f"{name}.sol.json.gz"))
    proof = {"method": found_by, "solver": None, "status": status}
    return index_line("open", instance, file, False, objective, bound, proof)


def main(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME")] = None,
    seconds: Annotated[float, typer.Option(help="For each method.")] = 120,
) -> None:
    """Improve what the index has of the open instances."""
    for name in names or open_entries():
        lines = {line["name"]: line for line in library.index().values()}
        lines[name] = improve(name, seconds)
        write_index(list(lines.values()))


if __name__ == "__main__":
    typer.run(main)
