"""Picture of workers: the GPUs of every server, and the workers that are placed there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched.display.drawing.bands import Bands, colours_array, require_drawable
from dlsched.display.drawing.colours import (
    EDGE,
    IDLE,
    OTHER,
    SAME,
    SAME_LABEL,
    Colouring,
    Differences,
    by_name,
    by_number,
    choose,
    default_of,
    mix,
)
from dlsched.display.drawing.labels import box_label
from dlsched.display.drawing.legend import colour_entries, entry, finish, idle_entry
from dlsched.display.drawing.style import SMALL, TEXT, ink, new_axes, set_labels, short_name
from dlsched.problems.workers.definition.check import check
from dlsched.problems.workers.definition.schema import (
    KINDS,
    POOLS,
    Instance,
    Kind,
    Server,
    Solution,
)
from dlsched.results.summary import solution_text
from dlsched.text.figures import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOR_BY = ("job", "kind", "gpus")
"""What placed workers can be coloured by: their job, base or flexible, the GPUs of a worker."""
_NAMED = 24
"""Up to this number of servers, each has a row with its name."""
_KINDS: dict[Kind, str] = {"base": "#0072b2", "flexible": "#e69f00"}


def draw(
    instance: Instance,
    solution: Solution | None = None,
    ax: Axes | None = None,
    *,
    color_by: str | None = None,
    other: Solution | None = None,
) -> Axes:
    """Draw the GPUs of all servers, training servers first.

    Up to 24 servers have a row each, with a box for each worker and its job's name; flexible
    workers are hatched. Of more servers, each is a column of cells, and those on loan are framed.

    Parameters
    ----------
    instance
        Servers and jobs.
    solution
        Where the workers are; without one only the GPUs in use before are drawn.
    ax
        Axes to draw on; those of a new figure by default.
    color_by
        One of `COLOR_BY`; by default the job, or with more jobs than looks the kind; of more than
        24 servers the GPUs of a worker.
    other
        A solution to compare with: jobs with as many workers in both are pale.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    OptionError
        If it cannot be coloured by that.
    """
    named = len(instance.servers) <= _NAMED
    default = default_of([job.id for job in instance.jobs], "kind") if named else "gpus"
    chosen = choose(color_by, COLOR_BY, default, instance.problem)
    picture = _Picture(instance, solution, chosen, other)
    standalone = ax is None
    axes = picture.rows(ax) if named else picture.columns(ax)
    finish(axes, picture.title(), picture.legend(named), own=standalone)
    return axes


def differing(instance: Instance, a: Solution, b: Solution) -> Differences:
    """Return the jobs that get other numbers of workers in two solutions."""
    first, second = (_numbers(solution) for solution in (a, b))
    jobs = {job.id for job in instance.jobs if first.get(job.id) != second.get(job.id)}
    return Differences(
        jobs, f"{len(jobs):,} of {len(instance.jobs):,} jobs", "numbers of workers of each kind"
    )


def _numbers(solution: Solution) -> dict[str, tuple[int, ...]]:
    """Return for each placed job its number of workers of each kind."""
    return {
        name: tuple(sum(placed.counts(kind).values()) for kind in KINDS)
        for name, placed in solution.placement.items()
    }


class _Picture:
    """The data of the picture: for each server, in the order drawn, its new workers."""

    def __init__(
        self, instance: Instance, solution: Solution | None, color_by: str, other: Solution | None
    ) -> None:
        self.instance = instance
        self.solution = solution
        self.color_by = color_by
        self.order: list[Server] = sorted(instance.servers, key=lambda s: POOLS.index(s.pool))
        self.workers: dict[str, list[tuple[int, Kind]]] = {s.id: [] for s in self.order}
        for name, placed in solution.placement.items() if solution else ():
            for kind in KINDS:
                for server, count in placed.counts(kind).items():
                    worker = (instance.job_index[name], kind)
                    self.workers[server] += [worker] * count
        names = [job.id for job in instance.jobs]
        self.kept = set(names)
        if solution is not None and other is not None:
            self.kept = set(differing(instance, solution, other).names)
        self.jobs = self._colouring().only(names, self.kept)

    def _colouring(self) -> Colouring:
        jobs = self.instance.jobs
        if self.color_by == "gpus":
            colouring = by_number([job.gpus_per_worker for job in jobs])
            return colouring.renamed(lambda size: f"{size} GPU{'s' * (size != '1')} a worker")
        return by_name([job.id for job in jobs])

    def colour(self, j: int, kind: Kind) -> str:
        """Return the colour of a worker of job j."""
        if self.color_by == "kind" and self.instance.jobs[j].id in self.kept:
            return _KINDS[kind]
        return SAME if self.color_by == "kind" else self.jobs.colours[j]

    def hatched(self, kind: Kind) -> bool:
        """Whether a hatch tells workers of this kind from others."""
        return kind == "flexible" and self.color_by != "kind"

    def title(self) -> str:
        """Return the instance, its size, and what the solution is worth."""
        instance = self.instance
        loan = sum(server.pool == "loan" for server in instance.servers)
        text = f"{instance.name}: {len(instance.servers):,} servers, {loan:,} on loan"
        if self.solution is None:
            return f"{text}, {len(instance.jobs):,} jobs"
        objective = check(instance, self.solution).objective
        worth = solution_text(self.solution.method, objective)
        return f"{text}, {len(instance.jobs):,} jobs; {worth}"

    def rows(self, ax: Axes | None) -> Axes:
        """Draw a row of boxes for each server."""
        n = len(self.order)
        if ax is None:
            ax = new_axes(0.2 * max(n, 1) + 0.95)
        for row, server in enumerate(self.order):
            self._row(ax, row, server)
        width = max((s.gpus for s in self.order), default=1)
        set_labels(ax, "GPUs of the server", "server")
        ax.set_yticks(range(n), [short_name(s.id, 10) for s in self.order], fontsize=TEXT)
        ax.set_xticks(range(0, width + 1, max(1, width // 8)))
        ax.set_xlim(0, width * 1.25)
        ax.set_ylim(max(n, 1) - 0.5, -0.5)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.spines["bottom"].set_bounds(0, width)
        return ax

    def _row(self, ax: Axes, row: int, server: Server) -> None:
        from matplotlib.patches import Rectangle

        low = row - 0.42
        high = 0.84
        frame: dict[str, Any] = {"edgecolor": EDGE, "linewidth": 0.6}
        ax.add_patch(Rectangle((0, low), server.gpus, high, facecolor=IDLE, **frame))
        start = server.gpus - server.free
        if start:
            ax.add_patch(Rectangle((0, low), start, high, facecolor=OTHER, zorder=2, **frame))
        for j, kind in self.workers[server.id]:
            job = self.instance.jobs[j]
            fill = self.colour(j, kind)
            pattern = "" if self.color_by == "kind" else self.jobs.hatch(j)
            hatch = ("//////" if self.hatched(kind) else "") + pattern
            look: dict[str, Any] = {"edgecolor": mix(fill, "#000000", 0.55), "hatch": hatch}
            box = (start, low, job.gpus_per_worker, high)
            ax.add_patch(Rectangle(box[:2], *box[2:], facecolor=fill, zorder=3, lw=0.6, **look))
            box_label(ax, box, shorten(job.id, 12), fill, opaque=bool(hatch))
            start += job.gpus_per_worker
        for g in range(1, server.gpus):
            ax.plot([g, g], [low, low + high], color="#00000040", linewidth=0.4, zorder=2.5)
        ax.annotate(
            self.where(server),
            (server.gpus, row),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
        )

    def where(self, server: Server) -> str:
        """Return the pool of a server, and its group with the workers that it gets."""
        if server.pool == "training":
            return "training"
        kinds = {kind for _, kind in self.workers[server.id]}
        group = server.group or (kinds.pop() if len(kinds) == 1 else None)
        return f"on loan, {group}" if group and self.instance.separate_groups else "on loan"

    def columns(self, ax: Axes | None) -> Axes:
        """Draw a column of cells for each server."""
        n = len(self.order)
        cells = max(s.gpus for s in self.order)
        require_drawable(n, cells, "the GPUs of its servers")
        colours = np.ones((cells, n, 3))
        for column, server in enumerate(self.order):
            start = server.gpus - server.free
            colours[:start, column] = colours_array([OTHER])
            for j, kind in self.workers[server.id]:
                size = self.instance.jobs[j].gpus_per_worker
                colours[start : start + size, column] = colours_array([self.colour(j, kind)])
                start += size
            colours[server.gpus :, column] = colours_array(["#eeeeee"])
        bands = Bands(n, cells, ax, cell_points=2.2, below=44)
        bands.paint(colours)
        loan = [c for c, server in enumerate(self.order) if server.pool == "loan"]
        bands.frames(loan, edgecolor=ink(), linewidth=1.1)
        bands.finish()
        words = f"all {n:,} servers, training servers first, {bands.per_band} in a row; "
        words += "a server is a column of its GPUs"
        set_labels(bands.ax, words, "servers")
        bands.ax.spines[:].set_visible(False)
        bands.ax.tick_params(length=0)
        return bands.ax

    def legend(self, named: bool) -> list[Any]:
        """Return the entries of all that is drawn."""
        drawn = [worker for server in self.order for worker in self.workers[server.id]]
        kinds = [kind for kind in KINDS if any(k == kind for _, k in drawn)]
        if self.color_by == "kind":
            entries = [entry(f"{kind} worker", _KINDS[kind]) for kind in kinds]
            if len(self.kept) < len(self.instance.jobs):
                entries.append(entry(SAME_LABEL, SAME))
        else:
            what = "jobs" if self.color_by == "job" else "sizes"
            entries = colour_entries(self.jobs, (j for j, _ in drawn), what, patterned=named)
            if "flexible" in kinds and named:
                entries.append(entry("flexible worker", IDLE, hatch="//////"))
        if any(not server.empty for server in self.order):
            entries.append(entry("in use before", OTHER))
        entries.append(idle_entry())
        if not named and any(server.pool == "loan" for server in self.order):
            entries.append(entry("on loan", "none", edgecolor=ink(), linewidth=1.4))
        return entries
