"""The best choices of the few jobs for which several are nearly as good at the prices.

All other jobs keep the choice that is best at the prices. The table over the GPUs that they leave
is that of `dp`, in floating point.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.elastic.programs.gpu_prices import Chosen, Relaxation, launch
from dlsched.problems.elastic.structures.choice_arrays import Choices
from dlsched.problems.elastic.structures.knapsack import first_entries
from dlsched.solvers.compilation import Floats

SIZES = (12, 24, 48, 96)
"""Jobs with more than one choice in the tables, one after the other."""
_NONE = -1e100
"""Worth of what does not fit."""
_FILLS = 100
"""Most changes that use what is left."""


class Core:
    """The best allocation so far, and tables that improve it.

    Attributes
    ----------
    best
        For each job its choice.
    worth
        Time saved, and for a job that starts more than all together can save.
    """

    def __init__(self, choices: Choices, best: Chosen) -> None:
        self.choices = choices
        self.best = best
        self.step = 1.0 + 2 * float(np.abs(choices.value).sum())
        self.worth: Floats = choices.value + choices.launch * self.step

    @property
    def started(self) -> int:
        """Number of pending jobs that the best allocation starts."""
        return int(self.choices.launch[self.best].sum())

    def offer(self, chosen: Chosen) -> None:
        """Keep an allocation if it is better."""
        if self.worth[chosen].sum() > self.worth[self.best].sum():
            self.best = chosen

    def search(self, relaxation: Relaxation, within: float, steps: int) -> None:
        """Fill tables of more and more jobs near a relaxation's prices.

        Parameters
        ----------
        within
            Relative distance to the relaxation's bound at which the search ends.
        steps
            Most additions of a table.
        """
        if relaxation.best is not None:
            self.offer(relaxation.best)
        loss = relaxation.losses()
        self.fill(loss)
        of_jobs = np.split(loss, self.choices.starts[1:])
        second = np.sort([np.partition(losses, 1)[1] for losses in of_jobs if len(losses) > 1])
        second = second[np.isfinite(second)]
        ties = int(np.count_nonzero(second <= 0))
        for size in SIZES:
            if self._near(relaxation, within) or not second.size:
                return
            last = min(ties + size, second.size) - 1
            chosen = self.table(loss <= second[last], steps)
            if chosen is not None:
                self.offer(chosen)
            if last + 1 == second.size:
                break
        self.fill(loss)

    def _near(self, relaxation: Relaxation, within: float) -> bool:
        value = float(self.choices.value[self.best].sum())
        distance = relaxation.bound - value
        return self.started >= relaxation.started and distance <= within * abs(value)

    def fill(self, loss: Floats) -> None:
        """Let started jobs take what is left, the choices of least loss first."""
        c = self.choices
        chosen = self.best.copy()
        free = c.capacity - c.gpus[chosen].sum(axis=0)
        for _ in range(_FILLS):
            held = chosen[c.row]
            same = c.launch == c.launch[held]
            better = np.flatnonzero(same & (c.value > c.value[held]))
            more = c.gpus[better] - c.gpus[held[better]]
            better = better[(more <= free).all(axis=1)]
            if not better.size:
                break
            new = int(better[np.argmin(loss[better])])
            free = free - c.gpus[new] + c.gpus[held[new]]
            chosen[c.row[new]] = new
        self.offer(chosen)

    def table(self, keep: NDArray[np.bool_], steps: int) -> Chosen | None:
        """Return the best allocation with these choices; ``None`` if none fits or steps run out."""
        c = self.choices
        several = (np.add.reduceat(keep.astype(np.int64), c.starts) > 1)[c.row]
        fixed = np.flatnonzero(keep & ~several)
        free = c.capacity - c.gpus[fixed].sum(axis=0)
        open_ = np.flatnonzero(keep & several)
        if (free < 0).any() or not open_.size:
            return None
        _, rows = np.unique(c.row[open_], return_inverse=True)
        largest = np.maximum.reduceat(c.gpus[open_], first_entries(rows))
        a, b = np.minimum(free, largest.sum(axis=0)).tolist()
        if len(open_) * (a + 1) * (b + 1) > steps:
            return None
        gpus: list[list[int]] = c.gpus[open_].tolist()
        worth = self.worth[open_]
        entries = np.full((int(rows[-1]) + 2, a + 1, b + 1), _NONE)
        entries[0] = 0.0
        for r, (g, h), value in zip(rows.tolist(), gpus, worth.tolist(), strict=True):
            if g <= a and h <= b:
                new = entries[r, : a + 1 - g, : b + 1 - h] + value
                np.maximum(entries[r + 1, g:, h:], new, out=entries[r + 1, g:, h:])
        if entries[-1, a, b] <= _NONE / 2:  # some of these jobs have no choice that fits
            return None
        chosen = c.starts.copy()
        chosen[c.row[fixed]] = fixed
        undecided = len(entries) - 1
        for k in reversed(range(len(open_))):
            g, h = gpus[k]
            r = int(rows[k])
            if r + 1 != undecided or g > a or h > b:
                continue
            if entries[r, a - g, b - h] + worth[k] == entries[r + 1, a, b]:
                chosen[c.row[open_[k]]] = open_[k]
                a -= g
                b -= h
                undecided = r
        return chosen


def near_prices(choices: Choices, within: float, steps: int) -> Chosen:
    """Return the choices of the method `prices`; the parameters are those of `Core.search`."""
    first, most = launch(choices)
    core = Core(choices, first)
    for target in range(most, core.started - 1, -1):
        core.search(Relaxation(choices, target), within, steps)
        if core.started >= target:
            break
    return core.best
