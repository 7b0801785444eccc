"""Insertion of jobs one by one into the free GPUs, and neighbourhood search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dlsched.problems.utility.heuristics.order_search import anneal_order
from dlsched.problems.utility.heuristics.partial_schedule import Plan, insert_in_turn
from dlsched.problems.utility.heuristics.remove_insert import anneal
from dlsched.problems.utility.programs.pricing import best_schedule
from dlsched.problems.utility.structures.gangs import Gangs, Indices, Levels, Vector
from dlsched.run import Run

_HOTTEST = {"order": 0.1, "schedule": 0.01}
"""The first temperature of a search, by what it changes, as a share of a job's mean utility."""
_COLDEST = 0.01
"""The last temperature, as a share of the first."""
_ORDERS = 12
"""Rounds of a search over orders, for each round and job of one over schedules."""
_STEPS = 1_000_000
"""The limits are checked after insertions with about this many slots, ..."""
_MOST_ROUNDS = 512
"""... but after this many rounds at the latest."""
_TIE = 1e-12
"""The least cost of a slot, as a share of a job's largest utility: of schedules of equal utility
the one with the fewest slots is chosen."""


class Insertion:
    """A schedule under construction: rows of speeds by job, and the GPUs that are left."""

    def __init__(self, gangs: Gangs, levels: Levels | None = None) -> None:
        inst = gangs.instance
        self.gangs = gangs
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

    def insert(self, job: int, price: Vector) -> bool:
        """Insert a job at the largest utility minus cost; return whether it finishes.

        Parameters
        ----------
        price
            Slots x masks: the price of a GPU.
        """
        masks = self.gangs.mask_of_speed[job, : self.gangs.number_of_speeds[job]]
        if not len(masks):
            return False
        worth = self.gangs.worth[job]
        workers = int(self.gangs.workers[job])
        largest = np.where(
            self.gangs.within[None, masks, :], self.free[:, None, :], np.iinfo(np.int64).max
        ).min(axis=2)
        cost = np.full((len(largest), len(masks)), _TIE * float(worth.max(initial=0)))
        cost += workers * price[:, masks]
        cost[largest < workers] = np.inf
        if len(self.gangs.barred):
            cost[self.gangs.barred[job, :, : len(masks)]] = np.inf
        work = self.gangs.rounded_down
        row = np.empty(len(largest), dtype=np.int8)
        value = best_schedule(
            cost,
            work.gains[job],
            int(work.needs[job]),
            int(self.gangs.first[job]),
            worth,
            True,
            row,
        )
        if value == -np.inf:
            return False
        self.put(job, row)
        return True

    def fill(self, order: Iterable[int], price: Vector | None = None) -> None:
        """Insert jobs in turn, where they fit.

        Without prices each job is inserted at its earliest finish. That takes so little time that
        no limit stops it: with any limit the schedule is one of a heuristic.
        """
        if price is None:
            plan = self._plan()
            insert_in_turn(self.gangs.demands, plan, np.array([*order], dtype=np.int64))
            self.reset(plan.levels)
            return
        for job in order:
            if self.gangs.stop():
                return
            self.insert(job, price)

    def arrange(self, run: Run, order: Sequence[int], rounds: int) -> None:
        """Insert all jobs in turn, into an empty schedule; then anneal over the order of jobs.

        Parameters
        ----------
        rounds
            The most rounds for each job, as in `improve`; one over orders takes far longer, and
            `_ORDERS` of them are done for each of these.
        """
        self.reset(np.full_like(self.levels, -1))
        self.fill(order)
        self._anneal(run, rounds * _ORDERS, np.array(order, dtype=np.int64))

    def improve(self, run: Run, rounds: int) -> None:
        """Remove some jobs and insert them again in another order; anneal, and keep the best.

        Parameters
        ----------
        rounds
            The most rounds for each job.
        """
        self._anneal(run, rounds * len(self.levels), None)

    def _anneal(self, run: Run, rounds: int, order: Indices | None) -> None:
        """Anneal over the order, or over schedules; keep the best schedule.

        Worse ones are accepted at a temperature that falls over the rounds, or over the run's time
        if that ends sooner. It ends early if every job has its largest utility.
        """
        count, slots = self.levels.shape
        if count < 2:
            return
        demands = self.gangs.demands
        plan = self._plan(int(run.rng.integers(1, 2**31 - 1)))
        kept = self.levels.copy()
        scheduled = np.flatnonzero(plan.finish >= 0)
        totals = np.full(2, demands.value[scheduled, plan.finish[scheduled]].sum())
        most = demands.value.max(axis=1).sum()
        hottest = _HOTTEST["schedule" if order is None else "order"]
        hottest *= max(self.total / count, np.finfo(float).tiny)
        density = self.density()
        steps = slots if order is None else slots * count
        rounds_at_once = max(1, min(_MOST_ROUNDS, _STEPS // steps))
        done = 0
        began = run.elapsed()
        seconds = max(run.remaining(), 1e-9)
        while done < rounds and totals[1] < most and not run.stop_reason():
            spent = (run.elapsed() - began) / seconds
            temperature = hottest * _COLDEST ** max(done / rounds, min(1.0, spent))
            before = totals[1]
            part = min(rounds_at_once, rounds - done)
            if order is None:
                anneal(demands, plan, density, part, temperature, totals, kept)
            else:
                anneal_order(demands, plan, order, part, temperature, totals, kept)
            done += part
            if totals[1] > before and not self.all_needed:
                run.record(self.gangs.unscaled(float(totals[1])), None)
        self.reset(kept)

    def _plan(self, seed: int = 1) -> Plan:
        """Return a copy of the schedule for the compiled loops."""
        runs = self.levels >= 0
        last = self.levels.shape[1] - 1 - runs[:, ::-1].argmax(axis=1)
        finish = np.where(runs.any(axis=1), last, -1)
        return Plan(self.levels.copy(), finish, self.free.copy(), np.array([seed]))

    def reset(self, levels: Levels) -> None:
        """Replace the schedule by these rows of speeds."""
        for j in np.flatnonzero((levels != self.levels).any(axis=1)).tolist():
            self.gangs.book(self.free, j, self.levels[j], sign=-1)
            self.levels[j] = -1
            self.worth[j] = 0.0
            self.put(j, levels[j])

    def density(self) -> Vector:
        """Return each job's largest utility per GPU and slot at its fastest."""
        gangs = self.gangs
        slots = np.maximum(1, gangs.instance.fewest)
        density: Vector = gangs.worth.max(axis=1) / (gangs.workers * slots)
        return density


def by_density(gangs: Gangs) -> Indices:
    """Return the jobs by utility per GPU and slot, the largest first."""
    order: Indices = np.argsort(-Insertion(gangs).density(), kind="stable")
    return order
