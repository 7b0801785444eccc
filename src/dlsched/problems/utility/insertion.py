"""Insertion of jobs one by one, each optimally into the free GPUs; then neighbourhood search."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dlsched.problems.utility.gangs import Gangs, Indices, Levels, Vector
from dlsched.problems.utility.pricing import best_schedule
from dlsched.run import Run

_TEMPERATURE = 0.03
"""The initial temperature, as a share of a job's mean utility."""
_MOST_REMOVED = 5
"""The most jobs that are removed at once."""
_WEIGHTS = (0.0, 0.7, 1.0)
"""Weights of prices in an insertion."""
_TIE = 1e-12
"""The least cost of a slot, as a share of a job's largest utility: of schedules of equal utility
the one with the fewest slots is chosen."""


class Insertion:
    """A schedule under construction: rows of speeds by job, and the GPUs that are left."""

    def __init__(self, gangs: Gangs, levels: Levels | None = None) -> None:
        inst = gangs.instance
        self.gangs, self.work = gangs, gangs.rounded_down
        self.levels: Levels = np.full((len(inst.jobs), inst.slots), -1, dtype=np.int8)
        self.worth = np.zeros(len(inst.jobs))
        self.all_needed = inst.must_finish
        self.free = gangs.free(self.levels)
        if levels is not None:
            self.reset(levels)

    @property
    def total(self) -> float:
        """The schedule's scaled utility."""
        return float(self.worth.sum())

    @property
    def merit(self) -> tuple[int, float]:
        """What is compared: the number of jobs scheduled, if all must finish, then the utility."""
        placed = int((self.levels >= 0).any(axis=1).sum()) if self.all_needed else 0
        return placed, self.total

    def put(self, job: int, row: np.ndarray) -> None:
        """Give a job a row of speeds; an empty one is ignored."""
        used = np.flatnonzero(row >= 0)
        if len(used):
            self.levels[job] = row
            self.worth[job] = self.gangs.worth[job, used[-1]]
            self.gangs.book(self.free, job, row)

    def left_out(self) -> list[int]:
        """Return the jobs without a schedule. (A scheduled one may have utility 0.)"""
        return [j for j, row in enumerate(self.levels) if row.max(initial=-1) < 0]

    def remove(self, job: int) -> None:
        """Remove a job."""
        self.gangs.book(self.free, job, self.levels[job], sign=-1)
        self.levels[job], self.worth[job] = -1, 0.0

    def insert(self, job: int, price: Vector | None = None, weight: float = 0.0) -> bool:
        """Insert a job at the largest utility minus weighted cost; return whether it finishes.

        Parameters
        ----------
        price
            Slots x masks: the price of a GPU.
        """
        of = np.array(self.gangs.of[job], dtype=np.int64)
        if not len(of):
            return False
        worth = self.gangs.worth[job]
        workers = int(self.gangs.workers[job])
        largest = np.where(
            self.gangs.within[None, of, :], self.free[:, None, :], np.iinfo(np.int64).max
        ).min(axis=2)
        cost = np.full((len(largest), len(of)), _TIE * float(worth.max(initial=0)))
        if price is not None and weight:
            cost += weight * workers * price[:, of]
        cost[largest < workers] = np.inf
        work, row = self.work, np.empty(len(largest), dtype=np.int8)
        value = best_schedule(
            cost, work.gains[job], int(work.needs[job]), int(self.gangs.first[job]), worth, True,
            row,
        )  # fmt: skip
        if value == -np.inf:
            return False
        self.put(job, row)
        return True

    def fill(self, order: Iterable[int], price: Vector | None = None, weight: float = 0.0) -> None:
        """Insert jobs in turn, where they fit, until there is a reason to stop."""
        for job in order:
            if self.gangs.stop():
                return
            self.insert(job, price, weight)

    def improve(self, run: Run, price: Vector | None, rounds: int) -> None:
        """Remove some jobs and insert them again in another order; anneal, and keep the best.

        Worse schedules are accepted at a temperature that falls to 0 over the rounds, or over the
        run's time if that ends sooner.

        Parameters
        ----------
        price
            Slots x masks: the price of a GPU, which insertions weigh by one of `_WEIGHTS`.
        rounds
            The most rounds.
        """
        rng, count = run.rng, len(self.worth)
        if count < 2:
            return
        density = self.density()
        initial = _TEMPERATURE * self.total / count
        best, kept_levels = self.merit, self.levels.copy()
        for i in range(rounds):
            if run.stop_reason():
                break
            spent = run.elapsed() / run.time_limit if run.time_limit else 0.0
            temperature = initial * (1 - max(i / rounds, min(1.0, spent)))
            before = self.total
            first = int(rng.integers(count))
            chosen = self._near(first, int(rng.integers(1, _MOST_REMOVED)), run)
            old = {j: self.levels[j].copy() for j in chosen}
            for j in chosen:
                self.remove(j)
            if rng.random() < 0.5:
                noisy = density[chosen] * rng.uniform(0.5, 1.8, len(chosen))
                order = [chosen[i] for i in np.argsort(-noisy)]
            else:
                order = [first, *(j for j in rng.permutation(chosen).tolist() if j != first)]
            self.fill(order, price, float(rng.choice(_WEIGHTS)) if price is not None else 0.0)
            loss = before - self.total
            missing = self.all_needed and any(
                self.levels[j].max() < 0 <= row.max() for j, row in old.items()
            )
            chance = np.exp(-loss / max(temperature, 1e-12 * before)) if loss > 0 else 1.0
            if missing or rng.random() >= chance:
                for j in chosen:
                    self.remove(j)
                for j, row in old.items():
                    self.put(j, row)
            elif self.merit > best:
                best, kept_levels = self.merit, self.levels.copy()
                run.record(self.gangs.unscaled(self.total), None)
        if self.merit < best:
            self.reset(kept_levels)

    def reset(self, levels: Levels) -> None:
        """Replace the schedule by these rows of speeds."""
        self.levels[:], self.worth[:] = -1, 0.0
        self.free = self.gangs.free(self.levels)
        for j, row in enumerate(levels):
            self.put(j, row)

    def density(self) -> Vector:
        """Return each job's largest utility per GPU and slot at its fastest."""
        work, gangs = self.work, self.gangs
        slots = -(-work.needs // np.maximum(1, work.gains[:, 0]))
        density: Vector = gangs.worth.max(axis=1) / (gangs.workers * slots)
        return density

    def _near(self, job: int, count: int, run: Run) -> list[int]:
        """Return a job and up to `count` random ones that run up to its last slot."""
        start = int(self.gangs.first[job])
        used = np.flatnonzero(self.levels[job] >= 0)
        stop = int(used[-1]) + 1 if len(used) else self.levels.shape[1]
        near = np.flatnonzero((self.levels[:, start:stop] >= 0).any(axis=1))
        near = near[near != job]
        picked = run.rng.choice(near, size=min(count, len(near)), replace=False)
        return [job, *picked.tolist()]


def by_density(gangs: Gangs) -> Indices:
    """Return the jobs by utility per GPU and slot, the largest first."""
    order: Indices = np.argsort(-Insertion(gangs).density(), kind="stable")
    return order
