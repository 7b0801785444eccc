"""Picture of sensitivity: the GPUs, CPUs and memory in use on every server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dlsched.display.drawing.cells import SHARES, Owner, Picture, Piece
from dlsched.display.drawing.colours import (
    OTHER,
    Colouring,
    Differences,
    Look,
    by_name,
    by_number,
    default_of,
    differences,
    gpus_of_a,
    scale,
    shade,
)
from dlsched.display.drawing.frame import View, framed
from dlsched.problems.sensitivity.definition.check import check, used
from dlsched.problems.sensitivity.definition.schema import Allocation, Instance, Solution
from dlsched.problems.sensitivity.heuristics import proportional
from dlsched.results.summary import solution_text
from dlsched.schema import Number

COLOR_BY = ("job", "model", "gpus")
"""What the boxes can be coloured by: the job, its model (profile), its GPUs."""
COLOR_BY_OF_MANY = ("cpus", "use", *COLOR_BY)
"""The same for many servers, and a job's CPUs per GPU against an even share of the server's, and
the share of each resource in use."""
_SHARES = {
    "under half an even share of CPUs": "#b35806",
    "less than an even share": "#f1a340",
    "an even share": OTHER,
    "up to twice an even share": "#998ec3",
    "more than twice": "#542788",
}
"""How many CPUs a GPU of a job has, relative to the server's CPUs per GPU."""
_RESOURCES = {"gpus": "GPU", "cpus": "CPU", "memory": "memory"}
_MOST_SERVERS = 8
"""Up to this number of servers, each has a row for each resource."""


def differing(instance: Instance, a: Solution, b: Solution) -> Differences:
    """Return the jobs with other CPUs or memory in two solutions, or in only one of them."""
    first, second = (
        {name: (given.cpus, given.memory) for name, given in solution.allocation.items()}
        for solution in (a, b)
    )
    return differences([job.id for job in instance.jobs], first, second, "CPUs and memory")


@framed(check, differing)
def draw(instance: Instance, solution: Solution | None, view: View) -> Picture:
    """Draw the shares of GPUs, CPUs and memory in use on every server.

    Up to 8 servers have three rows each, divided by job. Of more servers each is a column: the jobs
    on its GPUs, or the share of each resource in use. Without a solution the proportional
    allocation is drawn. The default of `color_by` is the job, or with more jobs than looks the
    model; of many servers the CPUs per GPU.
    """
    servers, jobs = instance.servers, instance.jobs
    many = servers.count > _MOST_SERVERS
    models = default_of(list(instance.profiles), "gpus").replace("job", "model")
    default = "cpus" if many else default_of([job.id for job in jobs], models)
    color_by = view.choose(COLOR_BY_OF_MANY if many else COLOR_BY, default)
    worth = None
    if solution is None:
        baseline = proportional(instance).solution
        solution = baseline if isinstance(baseline, Solution) else None
        worth = "no solution"
        if solution is not None:
            worth = solution_text("proportional", check(instance, solution).objective)
    allocation = dict(solution.allocation) if solution else {}
    colouring = _colouring(instance, color_by, allocation)
    held: list[list[tuple[str, Look, int]]] = [[] for _ in range(servers.count)]
    for j, job in enumerate(jobs):
        look = view.look(job.id, colouring.look(j))
        for s, gpus in allocation[job.id].gpus.items() if job.id in allocation else ():
            held[int(s)].append((job.id, look, gpus))
    size = f"{servers.count:,} server{'s' * (servers.count != 1)}, {len(jobs):,} jobs"
    names = [*_RESOURCES.values()]
    if color_by == "use":
        amounts = used(allocation)
        owners = [Owner("", 0, _use(instance, amounts.get(s))) for s in range(servers.count)]
        return Picture(
            size,
            owners,
            "servers, a column each",
            form="columns",
            scale=scale(),
            worth=worth,
            ticks=dict(enumerate(names)),
        )
    if many:
        owners = [
            Owner("", servers.gpus, [Piece(gpus, look) for _, look, gpus in here]) for here in held
        ]
    else:
        owners = [
            Owner(f"{s}: {name}" if r == 0 else name, 1, _row(instance, allocation, held[s], r))
            for s in range(servers.count)
            for r, name in enumerate(names)
        ]
    cells = f"servers; a server is a column of its {servers.gpus} GPUs"
    return Picture(
        size,
        owners,
        cells if many else "share of the server's GPUs, CPUs and memory in use",
        "" if many else "server",
        form="columns" if many else "rows",
        colouring=colouring,
        what="models" if color_by == "model" else "jobs",
        worth=worth,
        ticks=None if many else SHARES,
    )


def _use(instance: Instance, amounts: Sequence[Number] | None) -> list[Piece]:
    """Return the share of each resource of a server in use."""
    capacities = [getattr(instance.servers, name) for name in _RESOURCES]
    shares = [float(a / c) for a, c in zip(amounts or (0, 0, 0), capacities, strict=True)]
    return [Piece(1, Look(shade(share))) for share in shares]


def _row(
    instance: Instance,
    allocation: Mapping[str, Allocation],
    held: Sequence[tuple[str, Look, int]],
    resource: int,
) -> list[Piece]:
    """Return the jobs' shares of a resource of a server.

    Parameters
    ----------
    held
        The jobs, their looks and their GPUs there.
    """
    capacity = float(getattr(instance.servers, [*_RESOURCES][resource]))
    pieces = []
    for job, look, gpus in held:
        per_gpu = (1, allocation[job].cpus, allocation[job].memory)[resource]
        pieces.append(Piece(gpus * float(per_gpu) / capacity, look, job))
    return pieces


def _colouring(
    instance: Instance, color_by: str, allocation: Mapping[str, Allocation]
) -> Colouring:
    if color_by in ("cpus", "use"):
        even = Fraction(instance.servers.cpus) / instance.servers.gpus
        given = [allocation.get(job.id) for job in instance.jobs]
        labels = [_share(Fraction(a.cpus) / even) if a else "an even share" for a in given]
        return Colouring(tuple(labels), _SHARES)
    if color_by == "model":
        return by_name([job.profile for job in instance.jobs])
    if color_by == "gpus":
        by_gpus = by_number([instance.profile(job).gpus for job in instance.jobs])
        return by_gpus.renamed(gpus_of_a("job"))
    return by_name([job.id for job in instance.jobs])


def _share(ratio: Fraction) -> str:
    """Return the entry of `_SHARES` for a multiple of an even share."""
    under_half, less, even, more, twice = _SHARES
    if ratio < 1:
        return under_half if 2 * ratio < 1 else less
    if ratio == 1:
        return even
    return more if ratio <= 2 else twice
