"""Picture of configurations: the GPUs of every node, and the jobs on them."""

from __future__ import annotations

from collections.abc import Iterator

from dlsched.display.drawing.cells import NAMED, Owner, Picture, Piece
from dlsched.display.drawing.colours import (
    Colouring,
    Differences,
    Look,
    by_name,
    by_number,
    default_of,
    differences,
    gpus_of_a,
)
from dlsched.display.drawing.frame import View, framed
from dlsched.problems.configurations.definition.check import check, place
from dlsched.problems.configurations.definition.schema import Instance, Solution
from dlsched.schema import Id

COLOR_BY = ("job", "gpus", "change")
"""What GPUs can be coloured by: their job, its GPUs, and whether it keeps its configuration."""
_CHANGES = {
    "kept": Look("#8fb4d9", "keeps its configuration"),
    "moved": Look("#e69f00", "changes it"),
    "started": Look("#009e73", "had none"),
}


def differing(instance: Instance, a: Solution, b: Solution) -> Differences:
    """Return the jobs with other configurations in two solutions."""
    names = [job.id for job in instance.jobs]
    return differences(names, a.configurations, b.configurations, "configurations")


def _nodes(
    instance: Instance, solution: Solution | None
) -> Iterator[tuple[str, int, list[tuple[Id, int]]]]:
    """Yield each node with its GPUs, and the jobs on it with theirs."""
    chosen = solution.configurations if solution else {}
    given = {job: instance.by_id[c] for job, c in chosen.items()}
    for kind in instance.types:
        for number, jobs in enumerate(place(kind, given)[0], start=1):
            yield f"{kind.id} {number}", kind.gpus_per_node, jobs


def _change(instance: Instance, solution: Solution | None) -> dict[Id, Look]:
    chosen = solution.configurations if solution else {}
    looks = {}
    for job in instance.jobs:
        kept = "kept" if job.present == chosen.get(job.id) else "moved"
        looks[job.id] = _CHANGES["started" if job.present is None else kept]
    return looks


@framed(check, differing)
def draw(instance: Instance, solution: Solution | None, view: View) -> Picture:
    """Draw the GPUs of all nodes, type by type.

    Up to 24 nodes have a row each, with the names of their jobs; of more, each is a column of
    cells. The default of `color_by` is the job, or with more jobs than looks its GPUs.
    """
    names = [job.id for job in instance.jobs]
    color_by = view.choose(COLOR_BY, default_of(names, "gpus"))
    colouring, changes = _colouring(instance, solution, color_by), _change(instance, solution)
    looks = {
        name: view.look(name, changes[name] if color_by == "change" else colouring.look(j))
        for j, name in enumerate(names)
    }
    nodes = list(_nodes(instance, solution))
    named = len(nodes) <= NAMED
    owners = [
        Owner(node, gpus, [Piece(n, looks[job], job * named) for job, n in jobs])
        for node, gpus, jobs in nodes
    ]
    return Picture(
        f"{len(names):,} jobs on {len(owners):,} nodes",
        owners,
        "GPUs" if named else "nodes by type; a node is a column of its GPUs",
        "node" if named else "nodes",
        form="rows" if named else "columns",
        colouring=colouring,
        what="jobs" if color_by == "job" else "sizes",
        key=tuple(_CHANGES.values()),
        begin=0 if named else 1,
    )


def _colouring(instance: Instance, solution: Solution | None, color_by: str) -> Colouring:
    if color_by == "gpus":
        chosen = solution.configurations if solution else {}
        given = (instance.by_id.get(chosen.get(job.id, "")) for job in instance.jobs)
        return by_number([one.gpus if one else 0 for one in given]).renamed(gpus_of_a("job"))
    return by_name([job.id for job in instance.jobs])
