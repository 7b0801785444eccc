"""Picture of workers: the GPUs of every server, and the workers that are placed there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dlsched.display.drawing.cells import NAMED, Owner, Piece, draw_columns, draw_rows
from dlsched.display.drawing.colours import (
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
)
from dlsched.display.drawing.legend import colour_entries, entry, finish, idle_entry
from dlsched.display.drawing.style import ink
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

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOR_BY = ("job", "kind", "gpus")
"""What placed workers can be coloured by: their job, base or flexible, the GPUs of a worker."""
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
    named = len(instance.servers) <= NAMED
    default = default_of([job.id for job in instance.jobs], "kind") if named else "gpus"
    chosen = choose(color_by, COLOR_BY, default, instance.problem)
    picture = _Picture(instance, solution, chosen, other)
    standalone = ax is None
    servers = picture.servers(named)
    if named:
        axes = draw_rows(servers, ax, room=1.25)
    else:
        axes = draw_columns(servers, ax, ", training servers first")
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

    def servers(self, named: bool) -> list[Owner]:
        """Return the servers with what is on them, training servers first."""
        owners = []
        for server in self.order:
            before = server.gpus - server.free
            pieces = [Piece(before, OTHER)] if before else []
            pieces += [self._piece(*worker) for worker in self.workers[server.id]]
            frame = ink() if server.pool == "loan" and not named else ""
            owners.append(Owner(server.id, server.gpus, pieces, self.where(server), frame))
        return owners

    def _piece(self, j: int, kind: Kind) -> Piece:
        job = self.instance.jobs[j]
        pattern = "" if self.color_by == "kind" else self.jobs.hatch(j)
        hatch = ("//////" if self.hatched(kind) else "") + pattern
        return Piece(job.gpus_per_worker, self.colour(j, kind), job.id, hatch)

    def where(self, server: Server) -> str:
        """Return the pool of a server, and its group with the workers that it gets."""
        if server.pool == "training":
            return "training"
        kinds = {kind for _, kind in self.workers[server.id]}
        group = server.group or (kinds.pop() if len(kinds) == 1 else None)
        return f"on loan, {group}" if group and self.instance.separate_groups else "on loan"

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
