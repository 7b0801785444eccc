"""Picture of reclaiming: the GPUs of every server, by job or by what happens to them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dlsched.display.drawing.cells import NAMED, Owner, Piece, draw_columns, draw_rows
from dlsched.display.drawing.colours import (
    ACCENT,
    BAD,
    BLUES,
    IDLE,
    SAME,
    SAME_LABEL,
    Colouring,
    Differences,
    by_name,
    by_number,
    choose,
    default_of,
    gpus_of_a_job,
)
from dlsched.display.drawing.legend import colour_entries, entry, finish, idle_entry
from dlsched.display.drawing.style import ink
from dlsched.problems.reclaiming.definition.check import evaluate
from dlsched.problems.reclaiming.definition.schema import Instance, Solution
from dlsched.results.summary import solution_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def differing(instance: Instance, a: Solution, b: Solution) -> Differences:
    """Return the jobs that only one of two solutions preempts; the words count servers, too."""
    first, second = returned_of(instance, a), returned_of(instance, b)
    fates = preempted_of(instance, first) ^ preempted_of(instance, second)
    jobs = {instance.jobs[j].id for j in fates}
    words = f"{len(jobs):,} of {len(instance.jobs):,} jobs and {len(first ^ second):,} of "
    return Differences(jobs, f"{words}{len(instance.servers):,} servers", "outcome")


def returned_of(instance: Instance, solution: Solution | None) -> set[int]:
    """Return the positions of the servers that a solution returns."""
    index = instance.server_index
    return {index[s] for s in solution.returned if s in index} if solution else set()


def preempted_of(instance: Instance, returned: set[int]) -> set[int]:
    """Return the positions of the jobs that are preempted if some servers are returned."""
    return {j for j, base in enumerate(instance.base_servers) if not base.isdisjoint(returned)}


__all__ = ["COLOR_BY", "COLOR_BY_OF_MANY", "differing", "draw"]

COLOR_BY = ("job", "status", "gpus", "weight")
"""What the GPUs can be coloured by: their job, what happens to it, its GPUs, its weight."""
COLOR_BY_OF_MANY = ("outcome", *COLOR_BY)
"""The same for many servers, and the job's GPUs with what is preempted in orange."""
_STATES = {
    "base worker": "#8fb4d9",
    "flexible worker": "#d5e4f3",
    "preempted, server returned": BAD,
    "preempted, collateral": "#f6c6a5",
}


def draw(
    instance: Instance,
    solution: Solution | None = None,
    ax: Axes | None = None,
    *,
    color_by: str | None = None,
    other: Solution | None = None,
) -> Axes:
    """Draw the GPUs of all servers.

    Up to 24 servers have a row each, with the names of their jobs: flexible workers are hatched,
    preempted jobs crossed out, returned servers framed. Of more servers, each is a column of
    cells, and the columns fill as many rows as they need.

    Parameters
    ----------
    instance
        Servers and jobs.
    solution
        The servers to return; without one only the instance is drawn.
    ax
        Axes to draw on; those of a new figure by default.
    color_by
        One of `COLOR_BY`; by default the job, or with more jobs than looks the status. Of more than
        24 servers one of `COLOR_BY_OF_MANY`, by default the outcome.
    other
        A solution to compare with: jobs with the same fate in both are pale, and servers that only
        one of them returns have a coloured frame.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    OptionError
        If it cannot be coloured by that.
    """
    many = len(instance.servers) > NAMED
    possible = COLOR_BY_OF_MANY if many else COLOR_BY
    default = "outcome" if many else default_of([job.id for job in instance.jobs], "status")
    chosen = choose(color_by, possible, default, instance.problem)
    picture = _Picture(instance, solution, chosen, other)
    own = ax is None
    servers = picture.servers()
    if many:
        made = draw_columns(servers, ax, " in the file's order")
    else:
        made = draw_rows(servers, ax, room=1.2 if picture.returned else 1.01)
    finish(made, picture.title(), picture.legend(many=many), own=own)
    return made


class _Picture:
    """The data of the picture: for each server its workers, and the state of servers and jobs."""

    def __init__(
        self,
        instance: Instance,
        solution: Solution | None,
        color_by: str,
        other: Solution | None,
    ) -> None:
        index = instance.server_index
        self.instance = instance
        self.solution = solution
        self.color_by = color_by
        self.returned = returned_of(instance, solution)
        self.preempted = preempted_of(instance, self.returned)
        self.only_here: set[int] = set()
        kept = None
        if solution is not None and other is not None:
            kept = differing(instance, solution, other).names
            self.only_here = self.returned - returned_of(instance, other)
        self.same = {
            j for j, job in enumerate(instance.jobs) if kept is not None and job.id not in kept
        }
        self.workers: list[list[tuple[int, int, bool]]] = [[] for _ in instance.servers]
        for j, job in enumerate(instance.jobs):
            for w in job.workers:
                self.workers[index[w.server]].append((j, w.gpus, w.flexible))
        self.flexible = any(f for here in self.workers for _, _, f in here)
        self.jobs = self._colouring().only([job.id for job in instance.jobs], kept)

    def _colouring(self) -> Colouring:
        jobs = self.instance.jobs
        sizes = [sum(w.gpus for w in job.workers) for job in jobs]
        if self.color_by == "gpus":
            return by_number(sizes).renamed(gpus_of_a_job)
        if self.color_by == "outcome":
            return by_number(sizes, BLUES).renamed(gpus_of_a_job)
        if self.color_by == "weight":
            return by_number([Fraction(job.weight) for job in jobs]).renamed("weight {}".format)
        return by_name([job.id for job in jobs])

    def state(self, s: int, j: int, flexible: bool) -> str:
        """Return what happens to a worker of job j on server s."""
        if j in self.preempted:
            here = s in self.returned
            return list(_STATES)[2 if here else 3]
        return list(_STATES)[1 if flexible else 0]

    def colour(self, s: int, j: int, flexible: bool) -> str:
        """Return the colour of a worker of job j on server s."""
        if j in self.same:
            return SAME
        marked = self.color_by == "outcome" and j in self.preempted
        if self.color_by == "status" or marked:
            return _STATES[self.state(s, j, flexible)]
        return self.jobs.colours[j]

    def title(self) -> str:
        """Return the instance, its size, and what the solution costs."""
        instance = self.instance
        text = f"{instance.name}: {len(instance.servers):,} servers, demand {instance.demand:,}"
        if self.solution is not None:
            worth = evaluate(instance, self.returned)
            text += f"; {solution_text(self.solution.method, worth)}"
        return text

    def servers(self) -> list[Owner]:
        """Return the servers with their workers, in the file's order."""
        owners = []
        for s, server in enumerate(self.instance.servers):
            pieces = [self._piece(s, *worker) for worker in self.workers[s]]
            returned = s in self.returned
            frame = ACCENT if s in self.only_here else ink()
            note = "returned" * returned
            owners.append(Owner(server.id, server.gpus, pieces, note, frame * returned))
        return owners

    def _piece(self, s: int, j: int, gpus: int, flexible: bool) -> Piece:
        pattern = self.jobs.hatch(j) if self.color_by != "status" else ""
        hatch = ("//////" if flexible else "") + pattern
        name, crossed = self.instance.jobs[j].id, j in self.preempted
        return Piece(gpus, self.colour(s, j, flexible), name, hatch, crossed)

    def legend(self, *, many: bool) -> list[Any]:
        """Return the entries of all that is drawn."""
        drawn = [(s, *worker) for s, here in enumerate(self.workers) for worker in here]
        entries = []
        if self.color_by != "status":
            shown = (j for _, j, _, _ in drawn if self.color_by == "job" or j not in self.preempted)
            entries = colour_entries(self.jobs, shown, "jobs", patterned=not many)
        if self.color_by in ("status", "outcome"):
            found = {
                self.state(s, j, flexible) for s, j, _, flexible in drawn if j not in self.same
            }
            states = list(_STATES)[2 if self.color_by == "outcome" else 0 :]
            entries += [entry(name, _STATES[name]) for name in states if name in found]
            if self.same and self.color_by == "status":
                entries.append(entry(SAME_LABEL, SAME))
        used = sum(gpus for _, _, gpus, _ in drawn)
        if used < sum(server.gpus for server in self.instance.servers):
            entries.append(idle_entry())
        if self.flexible and not many:
            entries.append(entry("flexible worker", IDLE, hatch="//////"))
        if self.returned - self.only_here:
            entries.append(entry("returned", "none", edgecolor=ink(), linewidth=1.4))
        if self.only_here:
            entries.append(entry("returned only here", "none", edgecolor=ACCENT, linewidth=1.4))
        if self.preempted and not many:
            from matplotlib.lines import Line2D

            look: dict[str, Any] = {
                "color": ink(),
                "marker": "x",
                "linestyle": "none",
                "markersize": 5,
            }
            entries.append(Line2D([], [], label="preempted job", **look))
        return entries
