"""Picture of reclaiming: the GPUs of every server, by job or by what happens to them."""

from fractions import Fraction

from dlsched.display.drawing.cells import NAMED, Mark, Owner, Picture, Piece
from dlsched.display.drawing.colours import (
    ACCENT,
    BAD,
    BLUES,
    IDLE,
    Colouring,
    Differences,
    Look,
    by_name,
    by_number,
    default_of,
    gpus_of_a,
)
from dlsched.display.drawing.frame import View, framed
from dlsched.display.drawing.style import ink
from dlsched.problems.reclaiming.definition.check import check
from dlsched.problems.reclaiming.definition.schema import Instance, Solution, Worker

COLOR_BY = ("job", "status", "gpus", "weight")
"""What the GPUs can be coloured by: their job, what happens to it, its GPUs, its weight."""
COLOR_BY_OF_MANY = ("outcome", *COLOR_BY)
"""The same for many servers, and the job's GPUs with what is preempted in orange."""
_BASE, _FLEXIBLE, _RETURNED, _COLLATERAL = _STATES = (
    Look("#8fb4d9", "base worker"),
    Look("#d5e4f3", "flexible worker"),
    Look(BAD, "preempted, server returned"),
    Look("#f6c6a5", "preempted, collateral"),
)
_HATCHED = Mark("flexible worker", IDLE, hatch="//////")
_CROSSED = Mark("preempted job", crossed=True)


def differing(instance: Instance, a: Solution, b: Solution) -> Differences:
    """Return the jobs that only one of two solutions preempts; the words count servers, too."""
    first, second = _returned(instance, a), _returned(instance, b)
    fates = _preempted(instance, first) ^ _preempted(instance, second)
    jobs = {instance.jobs[j].id for j in fates}
    words = f"{len(jobs):,} of {len(instance.jobs):,} jobs"
    words += f" and {len(first ^ second):,} of {len(instance.servers):,} servers"
    return Differences(jobs, words, "outcome")


def _returned(instance: Instance, solution: Solution | None) -> set[int]:
    index = instance.server_index
    return {index[s] for s in solution.returned if s in index} if solution else set()


def _preempted(instance: Instance, returned: set[int]) -> set[int]:
    return {j for j, base in enumerate(instance.base_servers) if not base.isdisjoint(returned)}


@framed(check, differing)
def draw(instance: Instance, solution: Solution | None, view: View) -> Picture:
    """Draw the GPUs of all servers.

    Up to 24 servers have a row each, with the names of their jobs: flexible workers are hatched,
    preempted jobs crossed out, returned servers framed. Of more servers, each is a column of
    cells. The default of `color_by` is the job, or with more jobs than looks the status; of many
    servers the outcome. Servers that `other` does not return have a coloured frame.
    """
    many = len(instance.servers) > NAMED
    default = "outcome" if many else default_of([job.id for job in instance.jobs], "status")
    color_by = view.choose(COLOR_BY_OF_MANY if many else COLOR_BY, default)
    returned = _returned(instance, solution)
    preempted = _preempted(instance, returned)
    common = returned if view.kept is None else _returned(instance, view.other)
    colouring = _colouring(instance, color_by)
    pieces: list[list[Piece]] = [[] for _ in instance.servers]
    for j, job in enumerate(instance.jobs):
        crossed = (_CROSSED,) * (j in preempted)
        for worker in job.workers:
            s = instance.server_index[worker.server]
            look = colouring.look(j)
            if color_by == "status" or (color_by == "outcome" and j in preempted):
                look = _state(worker, j in preempted, s in returned)
            marks = (_HATCHED,) * worker.flexible + crossed
            name = "" if many else job.id
            pieces[s].append(Piece(worker.gpus, view.look(job.id, look), name, marks))
    frame = Mark("returned", edge=ink(), line=1.4)
    only_here = Mark("returned only here", edge=ACCENT, line=1.4)
    owners = []
    for s, server in enumerate(instance.servers):
        marks = (frame if s in common else only_here,) * (s in returned)
        owners.append(Owner(server.id, server.gpus, pieces[s], "returned" * bool(marks), marks))
    return Picture(
        f"{len(instance.servers):,} servers, demand {instance.demand:,}",
        owners,
        "servers in the file's order; a server is a column of its GPUs" if many else "GPUs",
        "servers" if many else "server",
        form="columns" if many else "rows",
        colouring=colouring,
        key=_STATES,
        begin=1 if many else 0,
    )


def _state(worker: Worker, preempted: bool, returned: bool) -> Look:
    """Return the look of what happens to a worker."""
    if preempted:
        return _RETURNED if returned else _COLLATERAL
    return _FLEXIBLE if worker.flexible else _BASE


def _colouring(instance: Instance, color_by: str) -> Colouring:
    jobs = instance.jobs
    sizes = [sum(worker.gpus for worker in job.workers) for job in jobs]
    if color_by == "outcome":
        return by_number(sizes, BLUES).renamed(gpus_of_a("job"))
    if color_by == "gpus":
        return by_number(sizes).renamed(gpus_of_a("job"))
    if color_by == "weight":
        return by_number([Fraction(job.weight) for job in jobs]).renamed("weight {}".format)
    return by_name([job.id for job in jobs])
