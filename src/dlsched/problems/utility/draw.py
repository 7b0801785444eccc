"""Pictures of utility: the jobs on every GPU by slot, and prices by slot and type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dlsched.problems.utility.schema import Instance, Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_GPUS = 64
"""The most GPUs that a picture shows, the first ones."""
COLOURS = ("#ffffff", "#d9d9d9", "#bdbdbd", "#a6bddb", "#fdd0a2", "#c7e9c0", "#dadaeb", "#fcbba1")
PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85}
"""The box behind a name, which would be illegible on a hatch."""
HATCHES = ("", "//", "..", "xx", "--", "oo", "\\\\")


def draw(instance: Instance, solution: Solution | None = None, ax: Axes | None = None) -> Axes:
    """Draw a lane for every GPU, by machine and type, and a box for each slot that a job holds it.

    The boxes of a gang have one name in one column; a gang that mixes types has lanes of several.

    Parameters
    ----------
    solution
        A feasible solution; without one all lanes are empty.
    ax
        Axes to draw into; new ones by default.
    """
    import matplotlib.pyplot as plt

    lanes = [
        (machine.id, kind, n)
        for machine in instance.machines
        for kind, count in machine.gpus.items()
        for n in range(count)
    ][:MOST_GPUS]
    rows = {lane: y for y, lane in enumerate(lanes)}
    schedule = solution.schedule if solution else {}
    last = max((h.slot for held in schedule.values() for h in held), default=instance.slots)
    if ax is None:
        _, ax = plt.subplots(figsize=(min(16, 2 + 0.5 * last), 1 + 0.3 * max(1, len(lanes))))
    taken: dict[tuple[int, str, str], int] = {}
    for j, job in enumerate(instance.jobs):
        for held in schedule.get(job.id, ()):
            for machine, kinds in held.gpus.items():
                for kind, count in kinds.items():
                    first = taken.get((held.slot, machine, kind), 0)
                    taken[held.slot, machine, kind] = first + count
                    for n in range(first, first + count):
                        if (machine, kind, n) in rows:
                            _box(ax, held.slot, rows[machine, kind, n], j, job.id)
    names = [f"{machine} {kind}" if n == 0 else "" for machine, kind, n in lanes]
    ax.set_yticks(range(len(lanes)), names, fontsize=7)
    ax.set_ylim(len(lanes) - 0.5, -0.5)
    ax.set_xlim(0.5, last + 0.5)
    ax.set_xlabel("slot")
    method = (solution.method or "a solution") if solution else "nothing"
    ax.set_title(f"{instance.name}: {method}")
    return ax


def _box(ax: Axes, slot: int, row: int, job: int, name: str) -> None:
    ax.bar(
        slot, 0.9, 0.96, row - 0.45, color=COLOURS[job % len(COLOURS)],
        hatch=HATCHES[job % len(HATCHES)], edgecolor="black", linewidth=0.5,
    )  # fmt: skip
    ax.text(slot, row, name, ha="center", va="center", fontsize=6, bbox=PAPER)


def draw_prices(
    instance: Instance, prices: Mapping[str, Sequence[float]], ax: Axes | None = None
) -> Axes:
    """Draw the price of a GPU by slot and type as a heat map; darker is more expensive.

    Parameters
    ----------
    prices
        For each type one number per slot, as `lagrangian_bound` takes them.
    ax
        Axes to draw into; new ones by default.
    """
    import matplotlib.pyplot as plt

    kinds = list(prices)
    if ax is None:
        _, ax = plt.subplots(figsize=(8, 1 + 0.5 * len(kinds)))
    image = ax.imshow(
        np.array([prices[kind] for kind in kinds], dtype=float),
        aspect="auto",
        cmap="Greys",
        extent=(0.5, instance.slots + 0.5, len(kinds) - 0.5, -0.5),
    )
    ax.set_yticks(range(len(kinds)), kinds)
    ax.set_xlabel("slot")
    ax.set_title(f"{instance.name}: price of a GPU")
    ax.figure.colorbar(image, ax=ax)
    return ax
