"""Dantzig-Wolfe over the jobs' schedules: prices by subgradients, then by the restricted master.

A column is a schedule of one job: in which slots it runs, and how fast. The master takes at most
one a job and keeps Hall's condition in every slot. Its rows' prices, of a slot and a set of types,
add up to prices of types, which bound at least as well: a gang's types lie in every set around it.
"""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dlsched.objective import Bound
from dlsched.problems.utility.dual import Answer, Dual, Stopped
from dlsched.problems.utility.gangs import Gangs, Vector
from dlsched.problems.utility.insertion import Insertion, by_density
from dlsched.problems.utility.master import Master
from dlsched.problems.utility.schema import Instance, Solution
from dlsched.result import Claim, Start, Status
from dlsched.run import Run
from dlsched.schema import Number, granularity

CLOSE = 1e-9
_PATIENCE = 24
"""Rounds of search without a better incumbent after which a run without a limit ends."""
_SMOOTHING = 0.6
"""How far prices go from the master's towards those of the best bound (Wentges 1997)."""
_MOST_ROWS = 1_000
"""With more rows the master's simplex takes longer than it is worth."""
_PASSES = 1500
_FEW = 4
"""Fewer jobs leave nothing for neighbourhoods to do."""
_MOST_CLOSING = 5_000
"""With so many triples of job, slot and speed the integer program may close the gap."""


class Search:
    """Columns, incumbent, bound and prices."""

    def __init__(self, instance: Instance, run: Run) -> None:
        self.instance, self.run = instance, run
        self.gangs = Gangs(instance, run.stop_reason)
        self.dual = Dual(self.gangs)
        self.best = Insertion(self.gangs)
        self.bound: Fraction | None = None
        self.prices = np.zeros((instance.slots, len(self.gangs.kinds)))
        self.start: Start | None = None
        self.proof = ""
        self.jobs: list[int] = []
        self.rows: list[NDArray[np.int8]] = []
        self.known: set[tuple[int, bytes]] = set()
        self.grid = (
            granularity(
                instance.worth(job, c)
                for job in instance.jobs
                for c in range(1, instance.slots - job.arrival + 2)
            )
            if instance.utility.kind != "effective_throughput"
            else Fraction(0)
        )

    @property
    def value(self) -> float:
        """The incumbent's worth, in the units of `Gangs`."""
        return self.best.total

    @property
    def closable(self) -> bool:
        """Whether the integer program is small enough to close what gap is left."""
        inst = self.instance
        pairs = zip(inst.jobs, inst.speeds, strict=True)
        runs = sum((inst.slots - job.arrival + 1) * len(speeds) for job, speeds in pairs)
        return runs <= _MOST_CLOSING

    @property
    def small(self) -> bool:
        """Whether the master has few enough rows for its simplex."""
        rows = self.instance.slots * len(self.gangs.sets) + len(self.instance.jobs)
        return rows <= _MOST_ROWS

    def done(self) -> bool:
        """Whether the gap is as small as was asked for."""
        if self.bound is None or not self.complete():
            return False
        bound, value = self.floating(self.bound), self.value
        return bound - value <= max(self.run.gap, CLOSE) * max(abs(value), abs(bound))

    def record(self, value: float) -> None:
        """Report an incumbent's worth, given in the units of `Gangs`, and the bound."""
        bound = self.bound
        known = None if bound is None else self.gangs.real(self.floating(bound))
        self.run.record(self.gangs.real(value), known)

    def floating(self, bound: Fraction) -> float:
        """Return an exact bound as a float in the units of `Gangs`."""
        return float(bound / Fraction(2) ** self.gangs.exponent)

    def complete(self) -> bool:
        """Whether the incumbent is a solution: all jobs finish, where they must."""
        return not self.instance.must_finish or bool((self.best.levels >= 0).any(axis=1).all())

    def solve(self) -> None:
        """Run all phases within the limits."""
        try:
            self._phases()
        except Stopped:
            return

    def _phases(self) -> None:
        limit = self.run.time_limit
        self.bound_alone()
        self.offer(self.inserted(None))
        self.best.improve(self.run.nested(min(2.0, 0.1 * limit) if limit else 2.0), None, 300)
        self.learn(self.best)
        self.ascend(self.run.nested(0.35 * limit if limit else float("inf")))
        if self.small and not (self.done() or self.run.stop_reason()):
            self.generate(self.run.nested(0.4 * limit if limit else float("inf")))
        self.search()

    def ascend(self, run: Run) -> None:
        """Find good prices, in rounds, with better incumbents in between."""
        for passes in (_PASSES // 4, _PASSES):
            prices, answer = self.dual.descend(run, self.value, self.prices, passes)
            self.note(prices, answer)
            if self.run.stop_reason():
                return
            self.take(prices)
            self.offer(self.inserted(prices))
            if self.done() or run.stop_reason():
                return

    def note(self, prices: Vector, answer: Answer) -> bool:
        """Keep the bound of these prices, which a pricing pass answered, if it is better."""
        bound = self.dual.bound(prices, answer)
        if self.grid:
            bound = bound // self.grid * self.grid
        if self.bound is None or bound < self.bound:
            self.bound, self.prices = bound, prices
            self.record(self.value)
            return True
        return False

    def bound_alone(self) -> None:
        """Note the bound of no prices: every job as if it were alone. Takes no time."""
        values = self.gangs.worth.max(axis=1, initial=0.0)
        rows = np.empty((len(values), 0), dtype=np.int8)
        self.note(np.zeros_like(self.prices), Answer(float(values.sum()), values, rows))

    def inserted(self, prices: Vector | None) -> Insertion:
        """Insert the jobs in the order of worth per GPU and slot, or of what prices leave."""
        made = Insertion(self.gangs)
        if prices is None:
            made.fill(by_density(self.gangs).tolist())
            return made
        answer = self.dual.price(prices)
        masks = self.dual.by_mask(prices)
        order = np.argsort(-answer.values, kind="stable").tolist()
        made.fill(order, masks, 1.0)
        missing = set(made.left_out())
        made.fill([j for j in order if j in missing])
        return made

    def offer(self, made: Insertion) -> bool:
        """Take a schedule as the incumbent if it is better."""
        self.learn(made)
        if made.merit <= self.best.merit:
            return False
        self.best = made
        self.record(made.total)
        return True

    def learn(self, made: Insertion) -> None:
        """Keep a schedule's rows as columns."""
        for j, row in enumerate(made.levels):
            self.add(j, row)

    def take(self, prices: Vector) -> int:
        """Add the jobs' best schedules at these prices; return how many are new."""
        rows = self.dual.price(prices, safe=True).rows
        return sum(self.add(j, row) for j, row in enumerate(rows))

    def add(self, job: int, row: NDArray[np.int8]) -> bool:
        """Add a column; return whether it is new. An empty row is none."""
        if not (row >= 0).any():
            return False
        key = (job, row.tobytes())
        if key in self.known:
            return False
        self.known.add(key)
        self.jobs.append(job)
        self.rows.append(row.copy())
        return True

    def generate(self, run: Run) -> None:
        """Column generation with smoothed prices, until the bound meets the master's optimum."""
        master = Master(self)
        smoothing = _SMOOTHING
        while not run.stop_reason():
            solved = master.solve()
            if solved is None:
                return
            value, prices = solved
            at = prices + smoothing * (self.prices - prices)
            better = self.note(at, self.dual.price(at))
            assert self.bound is not None
            if self.done() or self.floating(self.bound) - value <= 1e-7 * abs(value):
                return
            fresh = self.take(at)
            if smoothing and not fresh and not better:
                smoothing = 0.0  # mispriced: at the master's own prices
            elif not fresh and not better:
                return
            elif fresh:
                smoothing = _SMOOTHING
                master.extend()

    def search(self) -> None:
        """Improve the incumbent: neighbourhoods, and the integer master over the columns known."""
        masks = self.dual.by_mask(self.prices)
        limit = self.run.time_limit
        idle = 0
        while not (self.done() or self.run.stop_reason() or len(self.best.worth) < _FEW):
            before = self.value
            rounds = min(2000, 40 * len(self.instance.jobs))
            if idle:  # the neighbourhoods of the incumbent are exhausted
                other = Insertion(self.gangs)
                other.fill(self.run.rng.permutation(len(self.instance.jobs)).tolist())
                part = self.run.nested(0.3 * self.run.remaining())
                part.rng = self.run.rng  # other neighbourhoods than before
                other.improve(part, masks, rounds)
                self.offer(other)
            if limit is None or self.closable:
                self.best.improve(self.run, masks, rounds)
            else:
                self.best.improve(self.run.nested(0.6 * self.run.remaining()), masks, 10**9)
            self.learn(self.best)
            if not (self.done() or self.run.stop_reason()) and len(self.jobs) <= 20_000:
                patience = 0.15 * limit if limit else 20.0
                self.choose(self.run.nested(patience))
            idle = 0 if self.value > before + CLOSE * abs(before) else idle + 1
            if idle >= _PATIENCE and (limit is None or self.closable):
                return

    def choose(self, run: Run) -> None:
        """Solve the integer master over the columns known, from the incumbent."""
        from dlsched.solvers import highs

        form = Master(self).form()
        rows = [row.tobytes() for row in self.best.levels]
        start = np.array(
            [float(rows[j] == row.tobytes()) for j, row in zip(self.jobs, self.rows, strict=True)]
        )
        outcome = highs.solve(form, 0, run, start=start, quiet=True)
        if outcome.values is None:
            return
        levels = np.full_like(self.best.levels, -1)
        for i in np.flatnonzero(outcome.values > 0.5).tolist():
            levels[self.jobs[i]] = self.rows[i]
        made = Insertion(self.gangs, levels)
        made.fill(made.left_out())
        self.offer(made)

    def exact(self) -> Number:
        """Return the incumbent's worth in exact numbers."""
        inst, total = self.instance, Fraction(0)
        for job, row in zip(inst.jobs, self.best.levels, strict=True):
            used = np.flatnonzero(row >= 0)
            if len(used):
                total += inst.worth(job, int(used[-1]) - job.arrival + 2)
        return int(total) if total.denominator == 1 else total

    def claim(self, name: str, build_seconds: float) -> Claim:
        """Return what is known."""
        status, reason = Status.FEASIBLE, self.run.stop_reason() or "no more progress"
        bounds = []
        if self.bound is not None:
            bounds.append(Bound(self.bound, "certified", "prices, one pricing pass"))
        solution: Solution | None = self.gangs.solution(self.best.levels, name)
        if not self.complete():
            solution = None
            status = Status.NO_SOLUTION
            if self.bound is not None and self.bound < 0:
                status, reason = Status.INFEASIBLE, "by prices, not every job can finish"
        elif self.done():
            status, reason = Status.OPTIMAL, "the bound of the prices is met"
            bounds.append(Bound(self.exact(), "claimed", "prices, to nine digits"))
        return Claim(
            solution=solution,
            status=status,
            reason=reason,
            bounds=[bounds],
            build_seconds=build_seconds,
            start=self.start,
        )


def search(instance: Instance, run: Run, name: str) -> Claim:
    """Solve an instance and claim what is known."""
    began = time.perf_counter()
    found = Search(instance, run)
    if not found.gangs.masks:  # no job can run
        empty = found.gangs.solution(found.best.levels, name)
        bound = Bound(0, "certified", "no job can run")
        return Claim(empty, Status.OPTIMAL, "no job can run", [0], [[bound]])
    built = time.perf_counter() - began
    if isinstance(run.start, Solution):
        better = found.offer(Insertion(found.gangs, levels_of(found.gangs, run.start)))
        found.start = Start(True, "the first incumbent" if better else "worth nothing")
    found.solve()
    claim = found.claim(name, built)
    if claim.status in (Status.OPTIMAL, Status.INFEASIBLE) or run.stop_reason():
        return claim
    return _decided(instance, run, claim) if found.closable else claim


def _decided(instance: Instance, run: Run, claim: Claim) -> Claim:
    """Close what gap is left by the integer program."""
    from dlsched.problems.utility.exact import solve_model

    part = run.nested()
    part.start = claim.solution or run.start
    last = solve_model(instance, part)
    bounds = [[*(claim.bounds[0] if claim.bounds else []), *(last.bounds or [[]])[0]]]
    if last.status not in (Status.OPTIMAL, Status.INFEASIBLE, Status.FEASIBLE):
        return replace(claim, bounds=bounds, termination=last.termination, reason=last.reason)
    # It starts from the schedule known, so what it ends with is no worse.
    solution = last.solution and last.solution.model_copy(update={"method": "dantzig_wolfe"})
    decided = last.status is Status.OPTIMAL
    reason = f"{claim.reason}; the integer program decided" if decided else last.reason
    return replace(last, solution=solution, bounds=bounds, reason=reason, start=claim.start)


def levels_of(gangs: Gangs, solution: Solution) -> NDArray[np.int8]:
    """Return the rows of speeds of a feasible solution's jobs that finish."""
    from dlsched.problems.utility.check import completions

    inst = gangs.instance
    done = completions(inst, solution.schedule)
    levels = np.full((len(inst.jobs), inst.slots), -1, dtype=np.int8)
    for j, job in enumerate(inst.jobs):
        if job.id in done:
            gains = [s.gain for s in inst.speeds[j]]
            for held in solution.schedule[job.id]:
                slowest = min(inst.rate(job, k) for kinds in held.gpus.values() for k in kinds)
                levels[j, held.slot - 1] = gains.index(inst.gain(job, slowest))
    return levels
