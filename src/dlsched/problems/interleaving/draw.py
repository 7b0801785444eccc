"""Picture of interleaving: the iterations of groups, with a lane for each resource."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from dlsched.display.drawing.cells import Owner, Picture, Piece
from dlsched.display.drawing.colours import (
    BLANK,
    IDLE,
    Colouring,
    Differences,
    Look,
    by_name,
    by_number,
    differences,
    gpus_of_a,
    scale,
    shade,
)
from dlsched.display.drawing.frame import View, framed
from dlsched.problems.interleaving.definition.check import check, efficiency, iteration_time
from dlsched.problems.interleaving.definition.schema import Group, Instance, Solution

COLOR_BY = ("job", "gpus", "bottleneck")
"""What bars can be coloured by: the job, its GPUs, the resource of its longest stage."""
COLOR_BY_OF_MANY = ("use", *COLOR_BY)
"""The same for many groups, and the share of time in which each resource is in use."""
_MOST_GROUPS = 6
_MOST_JOBS = 14
"""Up to these numbers every stage of every group has a box."""
_IDLE = Look(IDLE, "idle")


def differing(instance: Instance, a: Solution, b: Solution) -> Differences:
    """Return the jobs that have other partners in two solutions."""
    first, second = (
        {name: frozenset(group.jobs) for group in solution.groups for name in group.jobs}
        for solution in (a, b)
    )
    return differences([job.id for job in instance.jobs], first, second, "partners")


@framed(check, differing)
def draw(instance: Instance, solution: Solution | None, view: View) -> Picture:
    """Draw the iterations of all groups, or without a solution of every job alone.

    Of up to 6 groups, the x axis is time, from 0 in each group, each lane is a resource, and a box
    is a stage. Of more groups, each is a column: the use of the resources, or its jobs. The default
    of `color_by` is the job; of many groups the use, or beside `other` the bottleneck.
    """
    alone = [Group(jobs=(job.id,), offsets=(0,)) for job in instance.jobs]
    groups = list(solution.groups) if solution else alone
    gammas = [float(efficiency(instance.stages_of(g.jobs), g.offsets)) for g in groups]
    members = sum(len(group.jobs) for group in groups)
    many = len(groups) > _MOST_GROUPS or members > _MOST_JOBS
    possible = COLOR_BY_OF_MANY if many else COLOR_BY
    default = "bottleneck" if many and view.kept is not None else possible[0]
    color_by = view.choose(possible, default)
    if many:
        order = sorted(range(len(groups)), key=lambda g: -gammas[g])
        picture = _map(instance, [groups[g] for g in order], color_by, view)
    else:
        picture = _lanes(instance, groups, gammas, _colouring(instance, color_by), view)
    picture.size = f"{members:,} job{'s' * (members != 1)}"
    if solution is None:
        picture.size += ", each alone"
    else:
        picture.size += f" in {len(groups):,} group{'s' * (len(groups) != 1)}"
        picture.more = f", mean γ {sum(gammas) / len(gammas):.3f}" * (len(groups) > 1)
    return picture


def _colouring(instance: Instance, color_by: str) -> Colouring:
    if color_by == "gpus":
        return by_number([job.gpus for job in instance.jobs]).renamed(gpus_of_a("job"))
    if color_by == "bottleneck":
        longest = [instance.resources[job.stages.index(max(job.stages))] for job in instance.jobs]
        return by_name(instance.resources).of(longest)
    return by_name([job.id for job in instance.jobs])


def _map(instance: Instance, groups: Sequence[Group], color_by: str, view: View) -> Picture:
    """Return a column for each group: the use of the resources, or its jobs."""
    if color_by == "use":
        columns = [Owner("", 0, _use(instance, group)) for group in groups]
        names = {float(r): name for r, name in enumerate(instance.resources)}
        key = scale()
        words = "groups by falling γ, a column each"
        return Picture("", columns, words, form="columns", scale=key, ticks=names, begin=1)
    colouring = _colouring(instance, color_by)
    most = max(len(group.jobs) for group in groups)
    columns = []
    for group in groups:
        looks = [view.look(name, colouring.look(instance.job_index[name])) for name in group.jobs]
        columns.append(Owner("", most, [Piece(1, look) for look in looks]))
    words = "groups by falling γ; a group is a column of its jobs"
    return Picture("", columns, words, form="columns", colouring=colouring, idle="no job", begin=1)


def _use(instance: Instance, group: Group) -> list[Piece]:
    """Return the share of a group's iteration in which each resource is in use."""
    stages = instance.stages_of(group.jobs)
    time = Fraction(iteration_time(stages, group.offsets))
    busy = [sum(resource) for resource in zip(*stages, strict=True)]
    return [Piece(1, Look(shade(float(used / time) if time else 0.0))) for used in busy]


def _lanes(
    instance: Instance,
    groups: Sequence[Group],
    gammas: Sequence[float],
    colouring: Colouring,
    view: View,
) -> Picture:
    """Return a lane for each resource, and one above with each group's efficiency and time."""
    names = instance.resources
    lanes: list[list[Piece]] = [[] for _ in names]
    heads: list[Piece] = []
    spans = []
    begin = 0.0
    sums = [sum(stages) for group in groups for stages in instance.stages_of(group.jobs)]
    space = 0.05 * float(max(sums, default=1))

    def look_of(name: str) -> Look:
        return view.look(name, colouring.look(instance.job_index[name]))

    for group, gamma in zip(groups, gammas, strict=True):
        time = float(iteration_time(instance.stages_of(group.jobs), group.offsets))
        heads += [Piece(time, BLANK, f"γ {gamma:.2f}, T {time:,.4g}"), Piece(space, BLANK)]
        for longest, busy in _steps(instance, group):
            for r, lane in enumerate(lanes):
                name, used = busy.get(r, ("", 0.0))
                if used:
                    lane.append(Piece(used, look_of(name), name))
                if used < longest:
                    lane.append(Piece(longest - used, _IDLE))
        for lane in lanes:
            lane.append(Piece(space, BLANK))
        spans.append((begin, begin + time))
        begin += time + space
    owners = [Owner("", 0, heads[:-1])]
    owners += [Owner(name, 0, lane[:-1]) for name, lane in zip(names, lanes, strict=True)]
    each = "of each group, from 0, " * (len(groups) > 1)
    words = f"time of one iteration {each}in the instance's unit"
    ticks = _time_ticks(spans, view.inches)
    return Picture("", owners, words, colouring=colouring, key=(_IDLE,), ticks=ticks)


def _steps(
    instance: Instance, group: Group
) -> Iterator[tuple[float, dict[int, tuple[str, float]]]]:
    """Yield for each step of an iteration its length, and by resource its job and busy time."""
    k = len(instance.resources)
    rows = [[float(s) for s in stages] for stages in instance.stages_of(group.jobs)]
    for step in range(k):
        stages = [(offset + step) % k for offset in group.offsets]
        busy = {
            stage: (name, row[stage])
            for name, row, stage in zip(group.jobs, rows, stages, strict=True)
        }
        yield max(used for _, used in busy.values()), busy


def _time_ticks(spans: Sequence[tuple[float, float]], inches: float) -> dict[float, str]:
    """Return the ticks of a time that begins at 0 in each group.

    Parameters
    ----------
    spans
        Where each group begins and ends on the axis.
    """
    from matplotlib.ticker import MaxNLocator

    room = sum(end - begin for begin, end in spans)
    most = max(2, min(8, int(1.4 * inches)))
    steps = MaxNLocator(nbins=most).tick_values(0, room or 1)
    step = float(steps[1] - steps[0])
    ticks = {}
    for begin, end in spans:
        for k in range(int((end - begin) / step) + 1):
            if k == 0 or end == spans[-1][1] or end - begin - k * step > 0.4 * step:
                ticks[begin + k * step] = f"{k * step:,.10g}"
    return ticks
