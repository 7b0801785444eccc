"""Picture of sensitivity: the GPUs, CPUs and memory in use on every server."""

from collections.abc import Mapping
from fractions import Fraction
from itertools import product

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
        solution, worth = _without(instance)
    allocation = dict(solution.allocation) if solution else {}
    size = f"{servers.count:,} server{'s' * (servers.count != 1)}, {len(jobs):,} jobs"
    if color_by == "use":
        return Picture(
            size,
            _uses(instance, allocation),
            "servers, a column each",
            form="columns",
            scale=scale(),
            worth=worth,
            ticks=dict(enumerate(_RESOURCES.values())),
        )
    colouring = _colouring(instance, color_by, allocation)
    looks = {job.id: view.look(job.id, colouring.look(j)) for j, job in enumerate(jobs)}
    cells = f"servers; a server is a column of its {servers.gpus} GPUs"
    return Picture(
        size,
        (_columns if many else _rows)(instance, allocation, looks),
        cells if many else "share of the server's GPUs, CPUs and memory in use",
        "" if many else "server",
        form="columns" if many else "rows",
        colouring=colouring,
        what="models" if color_by == "model" else "jobs",
        worth=worth,
        ticks=None if many else SHARES,
    )


def _without(instance: Instance) -> tuple[Solution | None, str]:
    """Return what is drawn without a solution, the proportional one, and what it is worth."""
    solution = proportional(instance).solution
    if not isinstance(solution, Solution):
        return None, "no solution"
    return solution, solution_text("proportional", check(instance, solution).objective)


def _uses(instance: Instance, allocation: Mapping[str, Allocation]) -> list[Owner]:
    """Return each server, with the share of each resource in use."""
    capacities = [float(getattr(instance.servers, name)) for name in _RESOURCES]
    amounts = used(allocation)
    owners = []
    for server in range(instance.servers.count):
        in_use = zip(amounts.get(server, (0, 0, 0)), capacities, strict=True)
        shares = [Piece(1, Look(shade(float(amount) / most))) for amount, most in in_use]
        owners.append(Owner("", 0, shares))
    return owners


def _columns(
    instance: Instance, allocation: Mapping[str, Allocation], looks: Mapping[str, Look]
) -> list[Owner]:
    """Return each server, with the jobs on its GPUs."""
    pieces: list[list[Piece]] = [[] for _ in range(instance.servers.count)]
    for job, look in looks.items():
        for server, gpus in allocation[job].gpus.items() if job in allocation else ():
            pieces[int(server)].append(Piece(gpus, look))
    return [Owner("", instance.servers.gpus, here) for here in pieces]


def _rows(
    instance: Instance, allocation: Mapping[str, Allocation], looks: Mapping[str, Look]
) -> list[Owner]:
    """Return each resource of each server, with the jobs' shares of it."""
    owners = []
    for s, (r, name) in product(range(instance.servers.count), enumerate(_RESOURCES)):
        capacity = float(getattr(instance.servers, name))
        pieces = []
        for job, look in looks.items():
            given = allocation.get(job)
            if given is not None and str(s) in given.gpus:
                per_gpu = float((1, given.cpus, given.memory)[r])
                pieces.append(Piece(given.gpus[str(s)] * per_gpu / capacity, look, job))
        label = _RESOURCES[name]
        owners.append(Owner(label if r else f"{s}: {label}", 1, pieces))
    return owners


def _colouring(
    instance: Instance, color_by: str, allocation: Mapping[str, Allocation]
) -> Colouring:
    if color_by == "cpus":
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
    return [*_SHARES][(2 * ratio >= 1) + (ratio >= 1) + (ratio > 1) + (ratio > 2)]
