"""Plot of a reclaiming instance: servers as rows of GPU cells, returned ones marked."""

from __future__ import annotations

from collections.abc import Sequence
from colorsys import hls_to_rgb
from typing import TYPE_CHECKING, Any

from dlsched.figures import shorten
from dlsched.problems.reclaiming.check import evaluate
from dlsched.problems.reclaiming.schema import Instance, Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROWS = 40
"""More servers than this are drawn in several columns, without their names."""
_NAMED = 24
"""Up to this number of servers, cells are labelled with the names of their jobs."""


def draw(instance: Instance, solution: Solution | None = None, ax: Axes | None = None) -> Axes:
    """Draw servers as rows of GPU cells, coloured by job.

    Flexible workers are hatched. With a solution, returned servers have a thick frame and an
    arrow, and the cells of preempted jobs are crossed out.

    Parameters
    ----------
    instance
        Servers and jobs.
    solution
        The servers to return; without one only the instance is drawn.
    ax
        Axes to draw on; those of a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    from matplotlib import pyplot as plt

    n = len(instance.servers)
    width = max((s.gpus for s in instance.servers), default=1)
    compact = n > _ROWS
    rows = min(n, max(_ROWS, -(-n // 13))) if compact else max(n, 1)
    columns = -(-n // rows) if n else 1
    step = width + (1.5 if compact else 4.0)
    if ax is None:
        cell = 0.1 if compact else 0.42
        size = (max(5.5, cell * step * columns + 1), max(2.0, cell * rows * 1.1 + 1.6))
        _, ax = plt.subplots(figsize=size, layout="constrained")
    picture = _Picture(instance, solution, ax, compact)
    for s in range(n):
        picture.server(s, (s // rows) * step, s % rows)
    picture.finish(columns * step - step + width, rows)
    return ax


class _Picture:
    """The data of the plot, and the axes it is drawn on."""

    def __init__(
        self, instance: Instance, solution: Solution | None, ax: Axes, compact: bool
    ) -> None:
        index = instance.server_index
        self.instance, self.ax, self.compact = instance, ax, compact
        self.named = len(instance.servers) <= _NAMED
        self.solved = solution is not None
        self.returned = {index[s] for s in solution.returned if s in index} if solution else set()
        self.preempted = {
            j for j, base in enumerate(instance.base_servers) if not base.isdisjoint(self.returned)
        }
        self.workers: list[list[tuple[int, int, bool]]] = [[] for _ in instance.servers]
        for j, job in enumerate(instance.jobs):
            for w in job.workers:
                self.workers[index[w.server]].append((j, w.gpus, w.flexible))
        self.flexible = any(f for here in self.workers for _, _, f in here)

    def server(self, s: int, x: float, row: int) -> None:
        """Draw one server with its left end at x."""
        from matplotlib.patches import Rectangle

        server, ax = self.instance.servers[s], self.ax
        ax.add_patch(
            Rectangle((x, row + 0.06), server.gpus, 0.88, facecolor="white", edgecolor="0.75")
        )
        at = x
        for j, gpus, flexible in self.workers[s]:
            self.worker(at, row, j, gpus, flexible)
            at += gpus
        if not self.compact:
            for g in range(1, server.gpus):
                ax.plot(
                    [x + g] * 2, [row + 0.08, row + 0.92], color="0.3", lw=0.5, ls=":", zorder=2.5
                )
            ax.text(x - 0.3, row + 0.5, shorten(server.id, 8), ha="right", va="center", fontsize=8)
        if s in self.returned:
            frame: dict[str, Any] = {"facecolor": "none", "edgecolor": "black", "zorder": 5}
            lw = 1.3 if self.compact else 2.6
            ax.add_patch(Rectangle((x, row + 0.06), server.gpus, 0.88, linewidth=lw, **frame))
            mark = "" if self.compact else " returned"
            size = 5 if self.compact else 8
            end = (x + server.gpus + 0.2, row + 0.5)
            ax.text(*end, f"→{mark}", ha="left", va="center", fontsize=size, weight="bold")

    def worker(self, x: float, row: int, j: int, gpus: int, flexible: bool) -> None:
        """Draw the cells of one worker."""
        from matplotlib.patches import Rectangle

        fill = _colour(j)
        edge: dict[str, Any] = {"edgecolor": "0.2", "linewidth": 0.3 if self.compact else 0.8}
        hatch = "////" if flexible else None
        box = Rectangle((x, row + 0.06), gpus, 0.88, facecolor=fill, hatch=hatch, zorder=2, **edge)
        self.ax.add_patch(box)
        if j in self.preempted:
            line: dict[str, Any] = {
                "color": "black",
                "lw": 0.6 if self.compact else 1.2,
                "zorder": 3,
            }
            for ends in ((row + 0.06, row + 0.94), (row + 0.94, row + 0.06)):
                self.ax.plot([x, x + gpus], ends, **line)
        if self.named:
            name = shorten(self.instance.jobs[j].id, 3 * gpus)
            light = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85}
            at = (x + gpus / 2, row + 0.5)
            self.ax.text(*at, name, ha="center", va="center", fontsize=7, bbox=light, zorder=4)

    def finish(self, right: float, rows: int) -> None:
        """Set the axes' limits, the title and the legend."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        ax, instance = self.ax, self.instance
        longest = max((len(shorten(s.id, 8)) for s in instance.servers), default=1)
        left = 0.5 if self.compact else 0.7 + 0.3 * longest
        ax.set_xlim(-left, right + (1.2 if self.compact else 2.6))
        ax.set_ylim(rows + 0.1, -0.1)
        ax.set_axis_off()
        title = f"{instance.name}: {len(instance.servers)} servers, demand {instance.demand}"
        handles: list[Any] = [Patch(facecolor=_colour(0), edgecolor="0.2", label="job")]
        if self.flexible:
            handles.append(
                Patch(facecolor="0.85", edgecolor="0.2", hatch="////", label="flexible worker")
            )
        if self.solved:
            preempted, collateral = evaluate(instance, self.returned)
            title += f"\npreempted {float(preempted):g}, collateral {collateral} GPUs"
            frame = Patch(facecolor="none", edgecolor="black", linewidth=2, label="returned")
            cross = Line2D(
                [], [], color="black", marker="x", linestyle="none", label="preempted job"
            )
            handles += [frame, cross]
        ax.set_title(title, fontsize=10, loc="left")
        ax.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(0, 0),
            ncols=4,
            fontsize=8,
            frameon=False,
        )


def _colour(j: int) -> Sequence[float]:
    """Return a job's colour: neighbours differ in hue, and in lightness for print in grey."""
    hue = (j * 0.618034) % 1
    return hls_to_rgb(hue, (0.86, 0.7, 0.78, 0.62)[j % 4], 0.6)
