"""Pictures of utility: the jobs on every GPU by slot, and prices by slot and type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.display.drawing.cells import NAMED, Owner, Picture, Piece
from dlsched.display.drawing.colours import (
    BLANK,
    IDLE,
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
from dlsched.display.drawing.frame import View, framed, show
from dlsched.display.drawing.maps import require_drawable
from dlsched.problems.utility.definition.check import check, completions
from dlsched.problems.utility.definition.schema import Instance, Solution
from dlsched.text.figures import display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOR_BY = ("job", "gpu_type", "workers", "arrival")
"""What boxes can be coloured by: job, type of GPU (without a schedule the fastest one for the job),
GPUs that the job holds, slot of arrival."""
_ROWS = 40
"""Up to this number of jobs without a schedule, each has a row with its name."""


class _Gpu(NamedTuple):
    """One GPU."""

    machine: str
    kind: str
    number: int


def differing(instance: Instance, a: Solution, b: Solution) -> Differences:
    """Return the jobs that end in different slots of two solutions, or in only one of them."""
    first, second = (completions(instance, solution.schedule) for solution in (a, b))
    return differences([job.id for job in instance.jobs], first, second, "slot of completion")


@framed(check, differing)
def draw(instance: Instance, solution: Solution | None, view: View) -> Picture:
    """Draw a lane for every GPU, and a box for the slots in which a job holds it.

    Without a solution, draw a row for each job with the slots that it would need alone.

    The boxes of a gang have one colour in one column; a gang that mixes types has lanes of several.
    More than 24 GPUs are drawn as a map of GPUs by slots, sorted by type. The default of `color_by`
    is the job, or with more jobs than looks its workers.
    """
    gpus = sum(instance.supply.values())
    many = solution is not None and gpus > NAMED
    default = default_of([job.id for job in instance.jobs], "workers", patterned=not many)
    color_by = view.choose(COLOR_BY, default)
    size = f"{gpus:,} GPUs, {len(instance.jobs):,} jobs, {instance.slots} slots of "
    size += f"{display(instance.slot_seconds)} s"
    colouring = _colouring(instance, color_by)
    if solution is None:
        return _alone(instance, size, colouring, view)
    require_drawable(gpus, instance.slots)
    lanes = [
        _Gpu(machine.id, kind, n)
        for machine in instance.machines
        for kind, count in machine.gpus.items()
        for n in range(count)
    ]
    if many:
        lanes.sort(key=lambda lane: list(instance.supply).index(lane.kind))
    # Beside another solution both have the same slots, so that lengths can be compared.
    drawn = [solution] if view.kept is None else [solution, view.other]
    held = [slots for s in drawn for job in s.schedule.values() for slots in job]
    last = max((slots.slot for slots in held), default=instance.slots)
    by_type = color_by == "gpu_type" and view.kept is None
    if by_type:
        colouring = by_name([*instance.supply])
    kinds = {kind: i for i, kind in enumerate(instance.supply)}

    def box(j: int, kind: str, slots: int) -> Piece:
        """Return the box of some slots in which a job holds a GPU, or none if it is -1."""
        if j < 0:
            return Piece(slots, BLANK)
        job = instance.jobs[j].id
        look = colouring.look(kinds[kind] if by_type else j)
        return Piece(slots, view.look(job, look), job)

    owners = []
    for lane, row in zip(lanes, _holders(instance, solution, lanes, last), strict=True):
        runs = [(j, len(list(slots))) for j, slots in groupby(row.tolist())]
        pieces = [box(j, lane.kind, slots) for j, slots in runs]
        name = f"{lane.machine} {lane.kind}" if lane.number == 0 else ""
        owners.append(Owner(name, last, pieces, group=lane.kind * many))
    after = f" (nothing runs after slot {last} of {instance.slots})" * (last < instance.slots)
    return Picture(
        size,
        owners,
        f"slot{after}",
        "GPUs, all of them" if many else "",
        form="lanes" if many else "rows",
        colouring=colouring,
        what="types" if by_type else "jobs",
        begin=0.5,
    )


def _alone(instance: Instance, size: str, colouring: Colouring, view: View) -> Picture:
    """Return a row for each job: the slots from its arrival that it needs at its fastest."""
    named = len(instance.jobs) <= _ROWS
    late = Look(IDLE, "cannot finish within the horizon")
    rows = []
    for j, (job, slots) in enumerate(zip(instance.jobs, instance.fewest, strict=True)):
        look = view.look(job.id, colouring.look(j)) if slots else late
        before, rest = job.arrival - 1, instance.slots - job.arrival + 1
        words = f"{job.workers} GPU{'s' * (job.workers > 1)}"
        pieces = [Piece(before, BLANK), Piece(slots or rest, look, words)]
        pieces.append(Piece(rest - (slots or rest), BLANK))
        rows.append(Owner(job.id, 0, pieces, group="" if named else "jobs"))
    return Picture(
        size,
        rows,
        "slot, if each job ran alone at its fastest",
        "job" if named else "in the file's order",
        form="rows" if named else "lanes",
        colouring=colouring,
        key=(late,),
        more="; nothing scheduled",
        begin=0.5,
    )


def _holders(
    instance: Instance, solution: Solution, lanes: Sequence[_Gpu], last: int
) -> NDArray[np.int64]:
    """Return for each lane and slot up to the last the position of the job that holds it, or -1.

    A job stays on the GPUs that it held in the slot before, as far as it holds as many.
    """
    schedule = solution.schedule
    owners = np.full((len(lanes), last), -1)
    pools: dict[tuple[str, str], list[int]] = {}
    for i, lane in enumerate(lanes):
        pools.setdefault((lane.machine, lane.kind), []).append(i)
    wanted: dict[tuple[int, str, str], dict[int, int]] = {}
    for j, job in enumerate(instance.jobs):
        for held in schedule.get(job.id, ()):
            for machine, kinds in held.gpus.items():
                for kind, count in kinds.items():
                    wanted.setdefault((held.slot, machine, kind), {})[j] = count
    for (slot, machine, kind), counts in sorted(wanted.items()):
        free, before = list(pools.get((machine, kind), ())), owners[:, slot - 2]
        for j in counts if slot > 1 else ():
            for kept in [i for i in free if before[i] == j][: counts[j]]:
                owners[kept, slot - 1] = j
                free.remove(kept)
        for j, count in counts.items():
            placed = sum(owners[i, slot - 1] == j for i in pools.get((machine, kind), ()))
            for new in free[: count - placed]:
                owners[new, slot - 1] = j
            free = free[count - placed :]
    return owners


def _colouring(instance: Instance, color_by: str) -> Colouring:
    if color_by in ("workers", "arrival"):
        words = gpus_of_a("job") if color_by == "workers" else "arrival in slot {}".format
        return by_number([getattr(job, color_by) for job in instance.jobs]).renamed(words)
    if color_by == "gpu_type":
        fastest = [max(instance.supply, key=partial(instance.rate, job)) for job in instance.jobs]
        return by_name([*instance.supply]).of(fastest)
    return by_name([job.id for job in instance.jobs])


def draw_prices(
    instance: Instance, prices: Mapping[str, Sequence[float]], ax: Axes | None = None
) -> Axes:
    """Draw the price of a GPU by slot and type; darker is more expensive.

    Parameters
    ----------
    prices
        For each type one number per slot, as `lagrangian_bound` takes them.
    ax
        Axes to draw on; those of a new figure by default.
    """
    most = max((price for row in prices.values() for price in row), default=0) or 1
    rows = [
        Owner(kind, 0, [Piece(1, Look(shade(price / most)), f"{price:.3g}") for price in row])
        for kind, row in prices.items()
    ]
    key = scale(lambda share: f"utility {share * most:.3g}")
    picture = Picture("", rows, "slot", "type of GPU", scale=key, begin=0.5)
    return show(picture, f"{instance.name}: price of a GPU for one slot", ax)
