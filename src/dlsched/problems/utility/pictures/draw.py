"""Pictures of utility: the jobs on every GPU by slot, and prices by slot and type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.display.drawing.bands import colours_array, require_drawable
from dlsched.display.drawing.colours import (
    EDGE,
    IDLE,
    Colouring,
    Differences,
    by_name,
    by_number,
    choose,
    default_of,
    gpus_of_a_job,
    mix,
)
from dlsched.display.drawing.labels import box_label
from dlsched.display.drawing.legend import colour_entries, finish, idle_entry
from dlsched.display.drawing.style import SMALL, TEXT, new_axes, set_labels, set_title, short_name
from dlsched.problems.utility.definition.check import check, completions
from dlsched.problems.utility.definition.schema import Instance, Solution
from dlsched.problems.utility.pictures.unscheduled_jobs import draw_alone
from dlsched.results.summary import solution_text
from dlsched.text.figures import display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOR_BY = ("job", "gpu_type", "workers", "arrival")
"""What boxes can be coloured by: job, type of GPU (without a schedule the fastest one for the job),
GPUs that the job holds, slot of arrival."""
_NAMED = 24
"""Up to this number of GPUs, each has a lane with its machine's name."""


class Lane(NamedTuple):
    """One GPU."""

    machine: str
    kind: str
    number: int


def draw(
    instance: Instance,
    solution: Solution | None = None,
    ax: Axes | None = None,
    *,
    color_by: str | None = None,
    other: Solution | None = None,
) -> Axes:
    """Draw a lane for every GPU, and a box for the slots in which a job holds it.

    Without a solution, draw a row for each job with the slots that it would need alone.

    The boxes of a gang have one colour in one column; a gang that mixes types has lanes of several.
    More than 24 GPUs are drawn as a map of GPUs by slots, sorted by type.

    Parameters
    ----------
    solution
        A feasible solution.
    ax
        Axes to draw on; those of a new figure by default.
    color_by
        One of `COLOR_BY`; by default the job, or with more jobs than looks its workers.
    other
        A solution to compare with: jobs that end in the same slot of both are pale.

    Raises
    ------
    OptionError
        If it cannot be coloured by that.
    """
    names = [job.id for job in instance.jobs]
    many = solution is not None and sum(instance.supply.values()) > _NAMED
    default = default_of(names, "workers", patterned=not many)
    chosen = choose(color_by, COLOR_BY, default, instance.problem)
    own = ax is None
    kept = None
    if solution is not None and other is not None:
        kept = differing(instance, solution, other).names
    jobs = _job_colours(instance, chosen).only(names, kept)
    if solution is None:
        ax, entries = draw_alone(instance, jobs, ax)
        finish(ax, f"{instance.name}: {_summary(instance, solution)}", entries, own=own)
        return ax
    require_drawable(sum(instance.supply.values()), instance.slots, "its GPUs and slots")
    lanes = [
        Lane(machine.id, kind, n)
        for machine in instance.machines
        for kind, count in machine.gpus.items()
        for n in range(count)
    ]
    if many:
        lanes.sort(key=lambda lane: list(instance.supply).index(lane.kind))
    # Beside another solution both have the same slots, so that lengths can be compared.
    drawn = [solution] if other is None else [solution, other]
    runs = [held for s in drawn for job in s.schedule.values() for held in job]
    last = max((held.slot for held in runs), default=instance.slots)
    owners = _owners(instance, solution, lanes, last)
    if ax is None:
        ax = new_axes(1.3 + (min(3.2, 0.035 * len(lanes)) if many else 0.2 * len(lanes)))
    kinds = by_name([*instance.supply])

    by_type = chosen == "gpu_type" and kept is None

    def look(lane: int, job: int) -> tuple[str, str]:
        if by_type:
            kind = lanes[lane].kind
            return kinds.key[kind], kinds.patterns.get(kind, "")
        return jobs.colours[job], jobs.hatch(job)

    if many:
        fixed = [kinds.key[lane.kind] for lane in lanes] if by_type else None
        _paint(ax, lanes, owners, jobs.colours, fixed)
    else:
        _boxes(ax, instance, lanes, owners, look)
    _axis(ax, instance, owners.shape[1], framed=many)
    used = owners >= 0
    if by_type:
        places = [list(instance.supply).index(lanes[lane].kind) for lane in np.nonzero(used)[0]]
        entries = colour_entries(kinds, places, "types", patterned=not many)
    else:
        shown = map(int, np.unique(owners[used]))
        entries = colour_entries(jobs, shown, "jobs", patterned=not many)
    entries += [idle_entry()] if not used.all() else []
    finish(ax, f"{instance.name}: {_summary(instance, solution)}", entries, own=own)
    return ax


def _owners(
    instance: Instance, solution: Solution, lanes: Sequence[Lane], last: int
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


def _runs(row: NDArray[np.int64]) -> Iterator[tuple[int, int, int]]:
    """Yield (job, first slot, number of slots) of each run of one job in a lane, slots from 0."""
    first = 0
    for job, slots in groupby(row.tolist()):
        count = len(list(slots))
        if job >= 0:
            yield job, first, count
        first += count


def differing(instance: Instance, a: Solution, b: Solution) -> Differences:
    """Return the jobs that end in different slots of two solutions, or in only one of them."""
    first, second = (completions(instance, solution.schedule) for solution in (a, b))
    jobs = {job.id for job in instance.jobs if first.get(job.id) != second.get(job.id)}
    return Differences(jobs, f"{len(jobs):,} of {len(instance.jobs):,} jobs", "slot of completion")


def _summary(instance: Instance, solution: Solution | None) -> str:
    who = "nothing scheduled"
    if solution is not None:
        who = solution_text(solution.method, check(instance, solution).objective)
    size = f"{sum(instance.supply.values()):,} GPUs, {len(instance.jobs):,} jobs, "
    return f"{size}{instance.slots} slots of {display(instance.slot_seconds)} s; {who}"


def _job_colours(instance: Instance, color_by: str) -> Colouring:
    if color_by in ("workers", "arrival"):
        made = by_number([getattr(job, color_by) for job in instance.jobs])
        return made.renamed(gpus_of_a_job if color_by == "workers" else "arrival in slot {}".format)
    if color_by == "gpu_type":
        fastest = [max(instance.supply, key=partial(instance.rate, job)) for job in instance.jobs]
        made, kinds = by_name([*instance.supply, *fastest]), len(instance.supply)
        return Colouring(made.colours[kinds:], made.labels[kinds:], made.key, made.patterns)
    return by_name([job.id for job in instance.jobs])


def _boxes(
    ax: Axes,
    instance: Instance,
    lanes: Sequence[Lane],
    owners: NDArray[np.int64],
    look: Callable[[int, int], tuple[str, str]],
) -> None:
    """Draw a named lane for each GPU.

    Parameters
    ----------
    look
        Colour and hatch of a job on a lane.
    """
    width = owners.shape[1]
    for y, row in enumerate(owners):
        empty: dict[str, Any] = {"facecolor": IDLE, "edgecolor": EDGE, "linewidth": 0.5}
        ax.barh(y, width, left=0.5, height=0.84, clip_on=False, **empty)
        for j, first, count in _runs(row):
            fill, hatch = look(y, j)
            edge = mix(fill, "#000000", 0.55)
            box = (first + 0.5, y - 0.42, count, 0.84)
            style: dict[str, Any] = {"color": fill, "edgecolor": edge, "hatch": hatch}
            ax.barh(y, count, left=first + 0.5, height=0.84, linewidth=0.6, **style)
            box_label(ax, box, instance.jobs[j].id, fill, opaque=bool(hatch))
    names = [f"{short_name(m, 10)} {short_name(kind, 8)}" if n == 0 else "" for m, kind, n in lanes]
    ax.set_yticks(range(len(lanes)), names, fontsize=TEXT)
    ax.set_ylim(max(len(lanes), 1) - 0.5, -0.5)


def _paint(
    ax: Axes,
    lanes: Sequence[Lane],
    owners: NDArray[np.int64],
    colours: Sequence[str],
    fixed: Sequence[str] | None,
) -> None:
    """Draw a map of GPUs by slots, and a line between the types.

    Parameters
    ----------
    colours
        One per job.
    fixed
        One per lane, instead of the jobs' colours.
    """
    pixels, held = np.ones((*owners.shape, 3)), owners >= 0
    if fixed is not None:
        pixels[held] = colours_array(fixed)[np.nonzero(held)[0]]
    elif held.any():
        pixels[held] = colours_array(colours)[owners[held]]
    high, width = owners.shape
    way = "none" if high <= 400 else "antialiased"
    ax.imshow(pixels, extent=(0.5, width + 0.5, high - 0.5, -0.5), aspect="auto", interpolation=way)
    counts = Counter(lane.kind for lane in lanes)
    sizes = np.array([*counts.values()])
    ends = np.cumsum(sizes)
    for end in ends[:-1]:
        ax.axhline(end - 0.5, color="black", linewidth=0.8)
    names = [f"{count:,} {short_name(kind, 10)}" for kind, count in counts.items()]
    ax.set_yticks(ends - sizes / 2 - 0.5, names, fontsize=TEXT)
    ax.set_ylabel("GPUs, all of them", fontsize=TEXT)


def _axis(ax: Axes, instance: Instance, last: int, *, framed: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    after = f" (nothing runs after slot {last} of {instance.slots})" * (last < instance.slots)
    set_labels(ax, f"slot{after}", ax.get_ylabel())
    ax.spines[:].set_visible(framed)
    ax.spines[:].set_edgecolor(EDGE)
    ax.set_xlim(0.5, last + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=10))
    ax.tick_params(axis="y", length=0)


def draw_prices(
    instance: Instance, prices: Mapping[str, Sequence[float]], ax: Axes | None = None
) -> Axes:
    """Draw the price of a GPU by slot and type as a heat map; darker is more expensive.

    Parameters
    ----------
    prices
        For each type one number per slot, as `lagrangian_bound` takes them.
    ax
        Axes to draw on; those of a new figure by default.
    """
    kinds = list(prices)
    if ax is None:
        ax = new_axes(0.9 + 0.25 * len(kinds))
    image = ax.imshow(
        np.array([prices[kind] for kind in kinds], dtype=float),
        aspect="auto",
        cmap="Greys",
        interpolation="none",
        extent=(0.5, instance.slots + 0.5, len(kinds) - 0.5, -0.5),
    )
    set_labels(ax, "slot", "type of GPU")
    ax.set_yticks(range(len(kinds)), [short_name(kind, 10) for kind in kinds], fontsize=TEXT)
    set_title(ax, f"{instance.name}: price of a GPU for one slot")
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.05, pad=0.02)
    bar.ax.tick_params(labelsize=SMALL, length=2)
    bar.set_label("utility", fontsize=TEXT)
    return ax
