"""Picture of dispatch: every machine with what runs, starts and is preempted, and what waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dlsched.display.drawing.colours import (
    BAD,
    MOST_NAMED,
    PALETTE,
    SAME,
    SAME_LABEL,
    Colouring,
    Differences,
    by_name,
    by_number,
    choose,
)
from dlsched.display.drawing.legend import colour_entries, entry, finish, idle_entry
from dlsched.problems.dispatch.definition.ranking import rank
from dlsched.problems.dispatch.definition.schema import Instance, Solution
from dlsched.problems.dispatch.pictures.machine_map import draw_map
from dlsched.problems.dispatch.pictures.machine_rows import draw_rows
from dlsched.problems.dispatch.pictures.machine_use import (
    OVER,
    VICTIM_HATCH,
    WITHIN,
    Looks,
    MachineUse,
    use_of_machines,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOR_BY = ("workload", "priority")
"""What starts and what waits can be coloured by the workload or by its priority."""
_NAMED = 24
"""Up to this number of machines, each has a row with its name."""


def draw(
    instance: Instance,
    solution: Solution | None = None,
    ax: Axes | None = None,
    *,
    color_by: str | None = None,
    other: Solution | None = None,
) -> Axes:
    """Draw every machine, filled by the shares of its GPUs or CPUs in use, and what waits.

    Of each workload the larger of the two shares counts. Up to 24 machines have a row each under
    headings of region and cluster; more are columns in a band for each cluster. What runs is dark
    grey within quota and light grey over it, what starts and what waits has a colour, what is
    preempted is hatched.

    Parameters
    ----------
    solution
        A feasible solution; by default nothing starts.
    ax
        Axes to draw on; those of a new figure by default.
    color_by
        One of `COLOR_BY`; by default the workload, or if more are pending than there are looks the
        priority.
    other
        A solution to compare with: workloads with the same fate in both are pale.

    Raises
    ------
    OptionError
        If it cannot be coloured by that.
    """
    many = len(instance.kinds) > _NAMED
    named = len(instance.pending) <= (len(PALETTE) if many else MOST_NAMED)
    default = "workload" if named else "priority"
    chosen = choose(color_by, COLOR_BY, default, instance.problem)
    kept = None
    if solution is not None and other is not None:
        kept = frozenset(differing(instance, solution, other).names)
    names = [workload.id for workload in instance.pending]
    looks = Looks(instance, _colouring(instance, chosen).only(names, kept), kept)
    use = use_of_machines(instance, solution, looks)
    started = set(solution.start) if solution else set()
    waiting = [w for w, name in enumerate(names) if name not in started]
    drawing = draw_map if many else draw_rows
    axes = drawing(instance, use, waiting, looks, ax)
    entries = _entries(instance, solution, looks, use, many=many)
    finish(axes, _title(instance, solution), entries, own=ax is None)
    return axes


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


def _entries(
    instance: Instance,
    solution: Solution | None,
    looks: Looks,
    use: dict[int, MachineUse],
    *,
    many: bool,
) -> list[Any]:
    """Return the legend's entries of what is drawn."""
    entries = colour_entries(
        looks.colouring, range(len(instance.pending)), "workloads", patterned=not many
    )
    gone = set(solution.preempt) if solution else set()
    stays = {w.within_quota for w in instance.running if w.id not in gone and looks.differs(w.id)}
    entries += [entry("running within quota", WITHIN)] if True in stays else []
    entries += [entry("running over quota", OVER)] if False in stays else []
    pale = any(not looks.differs(w.id) for w in instance.running)
    if pale and SAME_LABEL not in looks.colouring.labels:
        entries.append(entry(SAME_LABEL, SAME))
    full = {number for number, here in use.items() if sum(p.share for p in here.kept) > 0.99}
    entries += [idle_entry()] if len(full) < len(instance.kinds) else []
    if any(here.victims for here in use.values()):
        entries.append(entry("preempted", "none", edgecolor=BAD, hatch=VICTIM_HATCH))
    return entries


def _title(instance: Instance, solution: Solution | None) -> str:
    machines = len(instance.kinds)
    text = f"{instance.name}: {machines:,} machines, {len(instance.running):,} running"
    waiting = len(instance.pending)
    if solution is None:
        return f"{text}, {waiting:,} pending"
    who = solution.method or "a solution"
    started = sum(workload.id in solution.start for workload in instance.pending)
    return f"{text}; {who}: starts {started:,} of {waiting:,}, preempts {len(solution.preempt):,}"


def _colouring(instance: Instance, color_by: str) -> Colouring:
    if color_by == "workload":
        return by_name([workload.id for workload in instance.pending])
    priority = {ranked.position: ranked.priority for ranked in rank(instance)}
    made = by_number([priority[w] for w in range(len(instance.pending))])
    return made.renamed(lambda label: f"priority {label}")
