"""The picture of sensitivity: each server's GPUs, CPUs and memory, stacked by job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dlsched.problems.sensitivity.heuristics import proportional
from dlsched.problems.sensitivity.schema import Instance, Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_SERVERS = 6
"""Upper limit of the servers in a picture."""
PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85}
"""Background of a job's name, for legibility on a hatch."""
HATCHES = ("", "//", "..", "xx", "--", "oo", "\\\\", "++")
COLOURS = ("#ffffff", "#d9d9d9", "#bdbdbd", "#f0f0f0", "#a6bddb", "#fdd0a2", "#c7e9c0", "#dadaeb")
RESOURCES = ("gpus", "cpus", "memory")


def draw(instance: Instance, solution: Solution | None = None, ax: Axes | None = None) -> Axes:
    """Draw the first servers, three bars each: the fractions of GPUs, CPUs and memory by job.

    Bars of one job have one hatch and colour; the dashed line is the server's capacity.

    Parameters
    ----------
    solution
        A feasible solution; by default the proportional allocation.
    ax
        Axes to draw into; new ones by default.
    """
    import matplotlib.pyplot as plt

    method = "proportional"
    if solution is None:
        made = proportional(instance).solution
        solution = made if isinstance(made, Solution) else None
    else:
        method = solution.method or "a solution"
    servers = instance.servers
    shown = min(servers.count, MOST_SERVERS)
    if ax is None:
        _, ax = plt.subplots(figsize=(1.6 * shown + 2, 4))
    full = {name: float(getattr(servers, name)) for name in RESOURCES}
    tops = {(s, r): 0.0 for s in range(shown) for r in range(3)}
    for j, job in enumerate(instance.jobs):
        given = solution.allocation.get(job.id) if solution else None
        for server, gpus in given.gpus.items() if given else ():
            s = int(server)
            if given is None or s >= shown:
                continue
            for r, each in enumerate((1.0, float(given.cpus), float(given.memory))):
                share = gpus * each / full[RESOURCES[r]]
                bottom = tops[s, r]
                ax.bar(
                    4 * s + r, share, 0.9, bottom, color=COLOURS[j % 8], hatch=HATCHES[j % 7],
                    edgecolor="black", linewidth=0.6,
                )  # fmt: skip
                if r == 0:
                    ax.text(
                        4 * s, bottom + share / 2, job.id, ha="center", va="center",
                        fontsize=7, bbox=PAPER,
                    )  # fmt: skip
                tops[s, r] = bottom + share
    ax.axhline(1.0, linestyle="--", color="black", linewidth=0.8)
    ticks = [4 * s + r for s in range(shown) for r in range(3)]
    ax.set_xticks(ticks, [n for _ in range(shown) for n in ("GPU", "CPU", "mem")], fontsize=7)
    ax.set_ylim(0, 1.08)
    ax.set_ylabel("share of the server")
    if solution is None:
        method = "no solution"
    more = f", {shown} of {servers.count} servers" if shown < servers.count else ""
    ax.set_title(f"{instance.name}: {method}{more}")
    return ax


def draw_both(instance: Instance, solution: Solution) -> Sequence[Axes]:
    """Draw the proportional allocation beside a solution."""
    import matplotlib.pyplot as plt

    shown = min(instance.servers.count, MOST_SERVERS)
    figure, (left, right) = plt.subplots(1, 2, figsize=(2.8 * shown + 3, 4), sharey=True)
    draw(instance, None, left)
    draw(instance, solution, right)
    figure.tight_layout()
    return left, right
