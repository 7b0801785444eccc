"""Insertion of jobs one by one into the free GPUs, and neighbourhood search."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dlsched.problems.utility.kernels import insertion as kernel
from dlsched.problems.utility.kernels.pricing import Jobs, price_all
from dlsched.problems.utility.structures.gangs import Gangs, Levels
from dlsched.problems.utility.structures.work_stages import Stages
from dlsched.run import Run
from dlsched.solvers.arrays import Floats, Ints

_TIE = 1e-12
"""The least cost of a slot, as a share of a job's largest utility: of schedules of equal utility
the one with the fewest slots is chosen."""


@dataclass(frozen=True)
class Tunables:
    """Tunables of `insertion`, chosen by hand; no figure compares other values.

    What it reaches with these, in 1, 10 and 60 s: benchmarks/figures/utility.md.
    """

    rounds: int = 500
    """Rounds of the search over schedules for each job; an option of the method."""
    hottest_order: float = 0.1
    """First temperature of the search over orders, as a share of a job's mean utility."""
    hottest_schedule: float = 0.01
    """The same of the search over schedules."""
    coldest: float = 0.01
    """The last temperature, as a share of the first."""
    orders: int = 12
    """Rounds of a search over orders, for each round and job of one over schedules."""
    first_stage: int = 8
    """Rounds of the first stage of a search, for each job **(D)**."""
    growth: int = 4
    """How many times as long each stage is, so that the last one has most of the rounds **(D)**."""
    checked_steps: int = 1_000_000
    """The limits are checked after insertions with about this many slots, ..."""
    checked_rounds: int = 512
    """... but after this many rounds at the latest."""


TUNABLES = Tunables()


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

    def insert(self, job: int, price: Floats, work: Stages) -> None:
        """Insert a job at the largest utility minus cost, if it can finish; see `fill_at`."""
        masks = self.gangs.mask_of_speed[job, : self.gangs.number_of_speeds[job]]
        if not len(masks):
            return
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
        after = work.of(job)[:, : len(masks)].copy()
        speeds = np.arange(len(masks))[None, :]
        ends = np.array([[0], [len(after)], [len(masks)], [self.gangs.first[job]], [1]])
        row = np.empty((1, len(largest)), dtype=np.int8)
        price_all(cost, Jobs(speeds, after, *ends, worth[None, :]), True, np.empty(1), row)
        self.put(job, row[0])

    def fill(self, order: Iterable[int]) -> None:
        """Insert jobs in turn, where they fit, each at its earliest finish.

        It takes so little time that no limit stops it: with any limit the schedule is one of a
        heuristic.
        """
        plan = self.plan()
        demands = kernel.Demands(*self.gangs.demands)
        kernel.insert_in_turn(demands, plan, np.array([*order], dtype=np.int64))
        self.reset(np.asarray(plan.levels))

    def fill_at(self, price: Floats, work: Stages, order: Sequence[int]) -> None:
        """Insert jobs in turn, each at its largest utility minus cost; then the others that fit.

        Parameters
        ----------
        price
            Slots x masks: the price of a GPU.
        work
            The jobs' work, with gains rounded down.
        """
        for job in order:
            if self.gangs.stop():
                return
            self.insert(job, price, work)
        missing = set(self.left_out())
        self.fill(j for j in order if j in missing)

    def search(self, run: Run, order: Sequence[int], rounds: int) -> None:
        """Insert all jobs in turn, into an empty schedule; anneal over orders and schedules.

        By turns a stage over orders, and one over schedules that begins with the best schedule
        known, each four times as long as the one before. What a stage does depends on the rounds
        before it, not on the clock, so a shorter limit ends the same search earlier.

        Parameters
        ----------
        rounds
            The most rounds over schedules for each job; those over orders take about as long.
        """
        self.reset(np.full_like(self.levels, -1))
        self.fill(order)
        if len(self.levels) < 2:
            return
        orders = _Annealing(self, run, np.array(order, dtype=np.int64))
        schedules = _Annealing(self, run, None)
        for part in stages(rounds):
            for annealing, times in ((orders, TUNABLES.orders), (schedules, len(self.levels))):
                if run.stop_reason():
                    return
                if annealing is schedules:
                    annealing.begin_from(self.levels)
                annealing.stage(run, part * times)
                if annealing.best > self.total:
                    self.reset(annealing.kept)

    def improve(self, run: Run, rounds: int) -> None:
        """Remove some jobs and insert them again in another order; anneal, and keep the best.

        Parameters
        ----------
        rounds
            The most rounds for each job.
        """
        if len(self.levels) < 2:
            return
        annealing = _Annealing(self, run, None)
        for part in stages(rounds):
            if run.stop_reason():
                break
            annealing.stage(run, part * len(self.levels))
        self.reset(annealing.kept)

    def plan(self, seed: int = 1) -> kernel.Plan:
        """Return a copy of the schedule for the built loops."""
        runs = self.levels >= 0
        last = self.levels.shape[1] - 1 - runs[:, ::-1].argmax(axis=1)
        finish = np.where(runs.any(axis=1), last, -1)
        return kernel.Plan(self.levels.copy(), finish, self.free.copy(), seed)

    def reset(self, levels: Levels) -> None:
        """Replace the schedule by these rows of speeds."""
        for j in np.flatnonzero((levels != self.levels).any(axis=1)).tolist():
            self.gangs.book(self.free, j, self.levels[j], sign=-1)
            self.levels[j] = -1
            self.worth[j] = 0.0
            self.put(j, levels[j])


class _Annealing:
    """Annealing over orders of insertion, or over schedules, in stages; keeps the best schedule.

    A stage accepts worse schedules at a temperature that falls over its rounds.

    Parameters
    ----------
    order
        The jobs in the order of insertion that gave the schedule; ``None`` to search schedules.
    """

    def __init__(self, schedule: Insertion, run: Run, order: Ints | None) -> None:
        self.schedule, self.order = schedule, order
        self.demands = kernel.Demands(*schedule.gangs.demands)
        self.density = schedule.gangs.density
        self.plan = schedule.plan(int(run.rng.integers(1, 2**31 - 1)))
        self.kept = schedule.levels.copy()
        self.totals = np.full(2, self._worth())

    @property
    def best(self) -> float:
        """The scaled utility of the best schedule."""
        return float(self.totals[1])

    def begin_from(self, levels: Levels) -> None:
        """Go on from another schedule."""
        if not np.array_equal(levels, self.plan.levels):
            self.plan = self.schedule.plan(self.plan.seed)
            self.kept = levels.copy()
            self.totals[:] = self._worth()

    def stage(self, run: Run, rounds: int) -> None:
        """Do rounds; end early at a limit, or if all jobs have their largest utility."""
        count, slots = self.kept.shape
        most = self.schedule.gangs.value.max(axis=1).sum()
        share = TUNABLES.hottest_schedule if self.order is None else TUNABLES.hottest_order
        hottest = share * max(self.best / count, np.finfo(float).tiny)
        steps = slots if self.order is None else slots * count
        rounds_at_once = max(1, min(TUNABLES.checked_rounds, TUNABLES.checked_steps // steps))
        done = 0
        while done < rounds and self.best < most and not run.stop_reason():
            temperature = hottest * TUNABLES.coldest ** (done / rounds)
            before = self.best
            part = min(rounds_at_once, rounds - done)
            made = self.totals, self.kept
            if self.order is None:
                kernel.anneal(self.demands, self.plan, self.density, part, temperature, *made)
            else:
                kernel.anneal_order(self.demands, self.plan, self.order, part, temperature, *made)
            done += part
            if self.best > before and not self.schedule.all_needed:
                run.record(self.schedule.gangs.unscaled(self.best), None)

    def _worth(self) -> float:
        value, finish = self.schedule.gangs.value, np.asarray(self.plan.finish)
        scheduled = np.flatnonzero(finish >= 0)
        return float(value[scheduled, finish[scheduled]].sum())


def stages(rounds: int) -> Iterator[int]:
    """Yield the rounds of each stage, each `growth` times as long, together `rounds`."""
    part = TUNABLES.first_stage
    while rounds > 0:
        # A rest that would be shorter than the stage before it is added to that.
        part = rounds if rounds < part * (1 + TUNABLES.growth) else part
        yield part
        rounds -= part
        part *= TUNABLES.growth
