"""Picture of shares: a row for each job, its time on each type of GPU."""

from collections import defaultdict

from dlsched.display.drawing.cells import SHARES, Mark, Owner, Picture, Piece
from dlsched.display.drawing.colours import (
    IDLE,
    OTHER,
    Differences,
    Look,
    by_name,
    differences,
    light,
)
from dlsched.display.drawing.frame import View, framed
from dlsched.problems.shares.definition.check import check
from dlsched.problems.shares.definition.schema import Instance, Solution

COLOR_BY = ("type",)
"""What boxes are coloured by: the type of GPU."""
_ROWS = 40
"""Most jobs that have a row each."""
_BESIDE = Mark("beside another job", IDLE, hatch="//////")


def differing(instance: Instance, a: Solution, b: Solution) -> Differences:
    """Return the jobs with other times in two solutions."""
    first, second = _times(a), _times(b)
    return differences([job.id for job in instance.jobs], first, second, "times on each type")


def _times(solution: Solution | None) -> dict[str, dict[tuple[str, bool], float]]:
    """Return by job its time on each type, alone and beside another job."""
    times: dict[str, dict[tuple[str, bool], float]] = defaultdict(dict)
    for share in solution.shares if solution else ():
        key = share.type, len(share.jobs) > 1
        for job in share.jobs:
            times[job][key] = times[job].get(key, 0.0) + float(share.time)
    return times


@framed(check, differing)
def draw(instance: Instance, solution: Solution | None, view: View) -> Picture:
    """Draw each job's time on each type of GPU; time beside another job is hatched.

    Without a solution all time is idle. Of more than 40 jobs each is a column.
    """
    view.choose(COLOR_BY, COLOR_BY[0])
    types = by_name(list(instance.gpus))
    index = {kind: i for i, kind in enumerate(instance.gpus)}
    times = _times(solution)
    many = len(instance.jobs) > _ROWS
    owners = []
    for job in instance.jobs:
        pieces = []
        for (kind, shared), time in times[job.id].items():
            look = types.look(index[kind])
            if shared and many:  # cells have no hatches
                look = Look(light(look.colour), _BESIDE.label)
            pieces.append(Piece(time, view.look(job.id, look), marks=(_BESIDE,) * shared))
        owners.append(Owner(job.id, 1, pieces))
    gpus = ", ".join(f"{count:,} {kind}" for kind, count in instance.gpus.items())
    return Picture(
        f"{len(owners):,} jobs on {gpus}",
        owners,
        "jobs in the file's order; a job is a column of its time" if many else "share of the time",
        "jobs" if many else "job",
        form="columns" if many else "rows",
        colouring=types,
        what="types",
        key=(Look(light(OTHER), _BESIDE.label),),
        ticks=None if many else SHARES,
        begin=1 if many else 0,
        cells=24 if many else 1,
    )
