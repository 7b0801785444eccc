"""Picture of dispatch: every machine with what runs, starts and is preempted, and what waits."""

from collections import Counter
from collections.abc import Iterator, Mapping

from dlsched.display.drawing.cells import NAMED, SHARES, Mark, Owner, Picture, Piece
from dlsched.display.drawing.colours import (
    BAD,
    BLANK,
    MOST_NAMED,
    PALETTE,
    Colouring,
    Differences,
    Look,
    by_name,
    by_number,
)
from dlsched.display.drawing.frame import View, framed
from dlsched.problems.dispatch.definition.check import check
from dlsched.problems.dispatch.definition.ranking import rank
from dlsched.problems.dispatch.definition.schema import Instance, Solution
from dlsched.problems.dispatch.definition.workloads import PendingJob, PendingWorkload, RunningJob
from dlsched.text.figures import shorten

COLOR_BY = ("workload", "priority")
"""What starts and what waits can be coloured by the workload or by its priority."""
_WITHIN = Look("#76808e", "running within quota")
_OVER = Look("#d3d8de", "running over quota")
"""On each other their contrast (WCAG 2) is 2.8."""
_PREEMPTED = Mark("preempted", hatch="xxxxx", edge=BAD, line=1.0)
_WAITING = Mark("", dashed=True)
_NAMED_BOXES = 40
"""Up to this number of waiting workloads each has a box with its name and size."""
_BOX_INCHES = 1.05
"""Inches of such a box, at least."""
_SMALL_BOXES = 100
"""Boxes without names in a row."""
_MOST_BOXES = 400
"""More workloads are counted by colour, in one row."""


_Use = dict[int, list[Piece]]
"""By the number of a machine what uses it."""


def differing(instance: Instance, a: Solution, b: Solution) -> Differences:
    """Return the workloads that start elsewhere or in only one of two solutions, and the victims.

    Elsewhere is in another region or cluster; machines of a cluster do not count.
    """
    first, second = (_fates(solution) for solution in (a, b))
    known = [workload.id for workload in instance.pending]
    known += [workload.id for workload in instance.running]
    names = {name for name in known if first.get(name) != second.get(name)}
    return Differences(names, f"{len(names):,} of {len(known):,} workloads", "clusters")


def _fates(solution: Solution) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return for each workload that starts its jobs with their clusters; nothing for victims."""
    started = {
        name: tuple(sorted((job, placed.cluster) for job, placed in start.jobs.items()))
        for name, start in solution.start.items()
    }
    return started | dict.fromkeys(solution.preempt, ())


@framed(check, differing)
def draw(instance: Instance, solution: Solution | None, view: View) -> Picture:
    """Draw every machine, filled by the shares of its GPUs or CPUs in use, and what waits.

    Of each workload the larger of the two shares counts. Up to 24 machines have a row each under
    headings of region and cluster; more are columns in a band for each cluster. What runs is dark
    grey within quota and light grey over it, what starts and what waits has a colour, what is
    preempted is hatched. The default of `color_by` is the workload, or if more are pending than
    there are looks the priority.
    """
    many = len(instance.kinds) > NAMED
    few = len(instance.pending) <= (len(PALETTE) if many else MOST_NAMED)
    colouring = _colouring(instance, view.choose(COLOR_BY, "workload" if few else "priority"))
    looks = {
        workload.id: view.look(workload.id, colouring.look(w))
        for w, workload in enumerate(instance.pending)
    }
    kept, victims = _use(instance, solution, looks, view, named=not many)
    started = solution.start if solution else {}
    waiting = {name: look for name, look in looks.items() if name not in started}
    words = "share of the machine in use: of its GPUs or its CPUs, whichever is larger"
    if many:
        words = "machines by region and cluster; a column each, filled by the share of its GPUs or "
        words += "CPUs in use"
    size = f"{len(instance.kinds):,} machines, {len(instance.running):,} running"
    worth = ""
    if solution is None:
        size += f", {len(looks):,} pending"
    else:
        worth = f"{solution.method or 'a solution'}: starts {len(looks) - len(waiting):,} of "
        worth += f"{len(looks):,}, preempts {len(solution.preempt):,}"
    return Picture(
        size,
        _machines(instance, kept, victims, many=many),
        words,
        form="columns" if many else "rows",
        colouring=colouring,
        what="workloads",
        key=(_WITHIN, _OVER),
        worth=worth,
        ticks=None if many else SHARES,
        cells=12 if many else 1,
        strip=[*_waiting(instance, waiting, view.inches)],
    )


def _machines(instance: Instance, kept: _Use, victims: _Use, *, many: bool) -> list[Owner]:
    """Return every machine under its region and cluster; few have what is preempted in a row."""
    owners = []
    for group in instance.groups:
        region = instance.regions[group.region].id
        words = f"region {region}, cluster {group.cluster}"
        words = f"{region} / {group.cluster}" if many else words
        machine = group.machines
        note = f"{float(machine.cpus):,.4g} CPUs"
        if machine.gpus:
            note = f"{machine.gpus:,} {shorten(machine.gpu_type or '', 8)}"
        for number in range(group.first, group.first + machine.count):
            marks = (_PREEMPTED,) * (many and number in victims)
            name, pieces = instance.machine_name(number), kept.get(number, ())
            owners.append(Owner(name, 1, pieces, note, marks, words))
            if number in victims and not many:
                owners.append(Owner("", 0, victims[number], group=words))
    return owners


def _colouring(instance: Instance, color_by: str) -> Colouring:
    if color_by == "workload":
        return by_name([workload.id for workload in instance.pending])
    priority = {ranked.position: ranked.priority for ranked in rank(instance)}
    made = by_number([priority[w] for w in range(len(instance.pending))])
    return made.renamed("priority {}".format)


def _use(
    instance: Instance,
    solution: Solution | None,
    looks: Mapping[str, Look],
    view: View,
    *,
    named: bool,
) -> tuple[_Use, _Use]:
    """Return what uses the machines after the decision, and what was preempted there.

    Parameters
    ----------
    looks
        Of pending workloads.
    named
        Whether the names of running workloads are written.
    """
    kept: _Use = {}
    victims: _Use = {}
    gone = set(solution.preempt) if solution else set()
    for workload in instance.running:
        look = view.look(workload.id, _WITHIN if workload.within_quota else _OVER)
        marks = (_PREEMPTED,) * (workload.id in gone)
        for running in workload.jobs:
            for machine, share in _shares(instance, running, running.on):
                use = (victims if marks else kept).setdefault(machine, [])
                use.append(Piece(share, look, workload.id * named, marks))
    for waiting in instance.pending:
        if solution is None or waiting.id not in solution.start:
            continue
        placed = solution.start[waiting.id].jobs
        for job in waiting.jobs:
            for machine, share in _shares(instance, job, placed[job.id].on):
                kept.setdefault(machine, []).append(Piece(share, looks[waiting.id], waiting.id))
    return kept, victims


def _shares(
    instance: Instance, job: RunningJob | PendingJob, on: Mapping[str, int]
) -> Iterator[tuple[int, float]]:
    """Yield the machines of a job, and the larger of its shares of their GPUs and CPUs."""
    for name, tasks in on.items():
        number = instance.machine_number(name)
        if number is not None:
            machines = instance.kinds[number].machines
            uses = ((job.gpus, machines.gpus), (job.cpus, machines.cpus))
            yield number, max((float(tasks * a / b) for a, b in uses if b), default=0.0)


def _waiting(instance: Instance, waiting: Mapping[str, Look], inches: float) -> Iterator[Owner]:
    """Yield rows with a box for each waiting workload; of very many a part for each colour."""
    words = f"waiting: {len(waiting):,} of {len(instance.pending):,} pending workloads"
    if len(waiting) > _MOST_BOXES:
        parts = Counter(waiting.values()).most_common()
        counts = [Piece(count / len(waiting), look, f"{count:,}") for look, count in parts]
        yield Owner("", 0, counts, group=words)
        return
    named = len(waiting) <= _NAMED_BOXES
    per_row = max(1, int(inches / _BOX_INCHES)) if named else _SMALL_BOXES
    space = Piece(0.04 / per_row, BLANK)
    boxes = [
        Piece(
            0.96 / per_row, waiting[w.id], f"{shorten(w.id, 10)}: {_size(w)}" * named, (_WAITING,)
        )
        for w in instance.pending
        if w.id in waiting
    ]
    for first in range(0, len(boxes), per_row):
        row = [p for piece in boxes[first : first + per_row] for p in (piece, space)]
        yield Owner("", 0, row[:-1], group=words)


def _size(workload: PendingWorkload) -> str:
    """Return the GPUs of a workload in words, or its CPUs if it needs no GPU."""
    gpus = sum(job.tasks * job.gpus for job in workload.jobs)
    if gpus:
        return f"{gpus:,} GPU{'s' * (gpus != 1)}"
    return f"{float(sum(job.tasks * job.cpus for job in workload.jobs)):,.4g} CPUs"
