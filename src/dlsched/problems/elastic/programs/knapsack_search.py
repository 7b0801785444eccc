"""The search of `dp`: bounds, choices ruled out by the bound, and tables of the others.

One class, as each step uses the incumbent and the bounds of those before it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.elastic.definition.job_choices import Workers
from dlsched.problems.elastic.programs.lagrangian import (
    Relaxation,
    launch_bound,
    launches_of,
    reduction_bound,
    relax,
)
from dlsched.problems.elastic.structures.knapsack import Items
from dlsched.problems.elastic.structures.knapsack_table import (
    Stop,
    Table,
    fill_table,
    proves,
    read_table,
    through,
)
from dlsched.problems.elastic.structures.reduction_units import Integers
from dlsched.results.objective import SOLVER_PRECISION, Bound, relative_gap
from dlsched.results.result import Status, Termination
from dlsched.run import Run
from dlsched.solvers.arrays import Ints
from dlsched.solvers.incumbent import Incumbent

Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class Tunables:
    """Tunables of `dp`: when it fixes items first, and the largest tables.

    Steps are items times states. All were chosen by hand, on generated epochs of up to 3,000 jobs.
    """

    memory_gib: float = 2.0
    """Largest table; an option of the method."""
    small: int = 2_000_000
    """Most steps of a table of 64-bit integers that is filled at once, without fixing."""
    small_exact: int = 20_000
    """The same for a table of Python's integers."""
    core: int = 16
    """Number of jobs with the least second-best loss, solved first for a good incumbent."""
    exact: int = 200_000
    """Most steps of a table of Python's integers before rounded reductions narrow it down."""
    most_exact: int = 5_000_000
    """Most steps of a table of Python's integers after that."""


TUNABLES = Tunables()
_ENTRY_BYTES = {"int64": 8, "object": 48}
"""Bytes of a table's entry; a Python integer is an object and a reference to it."""


class Part(NamedTuple):
    """A part of the choices: the items to choose from, and the jobs with items that are not idle.

    ``busy`` has an entry per job with items.
    """

    keep: Flags
    busy: Flags


class FixedJobs(NamedTuple):
    """The items of jobs without another choice, the items of the others, and the GPUs left."""

    items: Ints
    others: Flags
    free: Workers


class Filled(NamedTuple):
    """A table, the worth that fixed items add to its entries; ``None`` if these do not fit."""

    table: Table | None
    fixed: int


@dataclass
class KnapsackSearch:
    """The search; ``most`` bounds level 1.

    Attributes
    ----------
    tunables
        Sizes of tables.
    status, termination, reason
        As in `Claim`.
    bounds
        For each level, the bounds found.
    """

    items: Items
    run: Run
    tunables: Tunables = TUNABLES
    status: Status = Status.FEASIBLE
    termination: Termination | None = None
    reason: str = ""
    bounds: list[list[Bound]] = field(default_factory=lambda: [[], []])

    def __post_init__(self) -> None:
        """Set the bound of level 1."""
        self.best: Incumbent[Sequence[int], tuple[int, int]] = Incumbent(
            self.run, self.worth, shown=lambda value: float(self.items.seconds(value[1]))
        )
        launches = launches_of(self.items)
        self.smallest = launches.chosen
        self.most = launches.most
        self.bounds[0] = [launch_bound(self.items, self.most)]
        if len(self.items.capacity) > 1:
            self.best.offer(self.smallest)

    def worth(self, chosen: Sequence[int]) -> tuple[int, int]:
        """Return how many jobs a choice of items launches, and their reduction in units."""
        items = np.array(chosen, dtype=np.int64)
        return int(self.items.launch[items].sum()), sum(self.items.value[items].tolist())

    @property
    def launched(self) -> int:
        """The number of jobs that the incumbent launches; -1 before there is one."""
        return -1 if self.best.value is None else self.best.value[0]

    @property
    def value(self) -> int:
        """The incumbent's reduction in units."""
        return 0 if self.best.value is None else self.best.value[1]

    def solve(self) -> None:
        """Fill the table of all items; if it is large, solve level 1, bound and fix first."""
        items = self.items
        worth = items.exact.worth
        sizes = self.tunables
        most = sizes.small if worth.dtype == np.int64 else sizes.small_exact
        stop = self.run.nested(self.run.remaining() / 2).stop_reason  # the rest is for a bound
        if len(items) * items.states <= most and self.holds(
            self.fill(self.everything(), worth, stop), worth, stop
        ):
            if self.launched < self.most:
                self.prove_launches()
            self.prove(self.table_bound())
            return
        self.best.offer(self.smallest)
        if self.launched < self.most:
            self.solve_launches()
        relaxation = relax(items, self.launched, self.most, self.run)
        self.bounds[1] = [reduction_bound(items, relaxation)]
        self.best.offer(relaxation.chosen)
        self.best.offer(self.improved(relaxation))
        if self.launched == self.most:
            self.solve_savings(relaxation)
        stopped = self.run.stop_reason()
        if self.status is not Status.OPTIMAL and stopped:
            self.termination = stopped
            self.reason = ""

    def solve_launches(self) -> None:
        """Fill the table of level 1, with the items of each job that take no more than needed."""
        items = self.items
        part = self.everything()
        part.keep[items.launch == 0] = False
        for first, end in zip(items.starts.tolist(), items.ends.tolist(), strict=True):
            for i in range(first, end):
                less = (items.gpus[first:end] <= items.gpus[i]).all(axis=1)
                part.keep[i] &= int(less.sum()) == 1
        if self.holds(self.fill(part, items.launch), items.launch):
            self.prove_launches()

    def solve_savings(self, relaxation: Relaxation) -> None:
        """Solve level 2 with the items that the relaxation cannot rule out.

        Tables of the items with small losses, with rounded reductions, are filled until one holds
        an incumbent whose distance to the bound is within these losses. The table of the items
        within that distance then decides.
        """
        for limit in self.limits(relaxation):
            if self.at_bound(relaxation):
                return
            if limit >= self.slack(relaxation):
                break
            if self.fill(self.within(relaxation, limit), self.items.rounded.worth) is None:
                return
        if not self.at_bound(relaxation):
            self.decide(self.within(relaxation, self.slack(relaxation)))

    def improved(self, relaxation: Relaxation) -> list[int]:
        """Return the incumbent with items that save more instead, those of least loss first."""
        items = self.items
        value = items.value.tolist()
        gpus = items.gpus.tolist()
        row = items.row.tolist()
        idle = (0,) * len(items.capacity)
        chosen = {row[i]: i for i in self.best.solution or ()}
        used = [gpus[i] for i in chosen.values()]
        free = [n - sum(taken) for n, *taken in zip(items.capacity, *used, strict=True)]
        for i in np.argsort(relaxation.loss, kind="stable").tolist():
            if not any(free) or self.run.stop_reason():
                break
            held = chosen.get(row[i])
            if held is None and items.launch[i]:
                continue  # the most pending jobs are launched already
            before = idle if held is None else gpus[held]
            left = [n - g + h for n, g, h in zip(free, gpus[i], before, strict=True)]
            if value[i] > (0 if held is None else value[held]) and min(left) >= 0:
                chosen[row[i]] = i
                free = left
        return list(chosen.values())

    def limits(self, relaxation: Relaxation) -> Iterator[int]:
        """Iterate over losses that each leave twice as many jobs with a choice as the last.

        The first one is at most half of the distance between incumbent and bound.
        """
        losses = np.split(relaxation.loss, self.items.starts[1:])
        second = sorted(
            sorted([idle, *loss.tolist()])[1]
            for idle, loss in zip(relaxation.idle_loss.tolist(), losses, strict=False)
        )
        if not len(self.items):
            return
        yield min(second[min(self.tunables.core, len(second)) - 1], self.slack(relaxation) // 2)
        jobs = 2 * self.tunables.core
        while jobs < len(second):
            yield second[jobs]
            jobs *= 2

    def decide(self, part: Part) -> None:
        """Prove the incumbent optimal by the table of a part with all that a better one may use.

        If the table of exact integers would be large, tables of rounded reductions first narrow the
        part down. If they cannot, the bound that they give is stated.
        """
        items = self.items
        if self.steps(part) > self.tunables.exact and items.rounded is not items.exact:
            filled = self.fill(part, items.rounded.worth)
            if filled is None:
                return
            if filled.table is not None:
                part = self.narrowed(part, filled.table, filled.fixed)
                if self.steps(part) > self.tunables.most_exact:
                    self.state_rounded(filled.table, filled.fixed)
                    return
        if self.holds(self.fill(part, items.exact.worth), items.exact.worth):
            self.prove(self.table_bound())

    def everything(self) -> Part:
        """Return the part with all choices."""
        items = self.items
        return Part(np.ones(len(items), dtype=bool), np.zeros(len(items.starts), dtype=bool))

    def within(self, relaxation: Relaxation, limit: int) -> Part:
        """Return the part with the choices of at most this loss."""
        keep = (relaxation.loss <= limit).astype(bool)
        return Part(keep, (relaxation.idle_loss > limit).astype(bool))

    def fix(self, part: Part) -> FixedJobs:
        """Fix the jobs that have one choice left."""
        items = self.items
        counts = np.bincount(items.row[part.keep], minlength=len(part.busy))
        alone = part.keep & (part.busy & (counts == 1))[items.row]
        fixed = np.flatnonzero(alone)
        used = items.gpus[fixed].sum(axis=0).tolist()
        free = tuple([n - g for n, g in zip(items.capacity, used, strict=True)])
        return FixedJobs(fixed, part.keep & ~alone, free)

    def steps(self, part: Part) -> int:
        """Return how many steps it takes to fill the table of a part."""
        fixed = self.fix(part)
        return int(fixed.others.sum()) * math.prod(max(0, n + 1) for n in fixed.free)

    def fill(self, part: Part, worth: Integers, stop: Stop | None = None) -> Filled | None:
        """Fix the jobs with one choice left, fill the table of the others, offer its optimum.

        Parameters
        ----------
        part
            The choices; a job that is busy without an item in it counts as idle.
        worth
            Worth of all items.
        stop
            By default the run's reason to stop.

        Returns
        -------
        Filled or None
            ``None`` if a limit is reached.
        """
        items = self.items
        fixed = self.fix(part)
        if min(fixed.free) < 0:
            return Filled(None, 0)
        numbers = np.flatnonzero(fixed.others & (items.gpus <= fixed.free).all(axis=1))
        rows = 1 + len(np.unique(items.row[numbers]))
        entries = rows * math.prod(n + 1 for n in fixed.free)
        gib = entries * _ENTRY_BYTES[worth.dtype.name] / 2**30
        most = self.tunables.memory_gib
        if gib > most:
            self.termination = Termination.MEMORY_LIMIT
            self.reason = f"the table needs {gib:.1f} GiB, the limit is {most:g}"
            return None
        table = fill_table(items, numbers, worth[numbers], fixed.free, stop or self.run.stop_reason)
        if table is None:
            return None
        self.best.offer([*fixed.items.tolist(), *read_table(table)])
        return Filled(table, sum(worth[fixed.items].tolist()))

    def holds(self, filled: Filled | None, worth: Integers, stop: Stop | None = None) -> bool:
        """Whether a checked table shows that the incumbent is worth as much as any choice."""
        if filled is None:
            return False
        if filled.table is None:  # what must be used does not fit, so nothing beats the incumbent
            return True
        held = sum(worth[np.array(self.best.solution, dtype=np.int64)].tolist())
        enough = held >= filled.fixed + filled.table.most
        return enough and proves(filled.table, stop or self.run.stop_reason)

    def narrowed(self, part: Part, table: Table, fixed: int) -> Part:
        """Return the choices of a part that are in an allocation better than the incumbent.

        A choice is left out if no allocation with it has a sum of rounded reductions that a
        better one would have, by this table and that of the same items in reverse order.
        """
        items = self.items
        numbers = table.numbers
        stop = self.run.stop_reason
        if 16 * table.entries.size > self.tunables.memory_gib * 2**30:
            return part
        backward = fill_table(items, numbers[::-1], table.worth[::-1], table.capacity, stop)
        if backward is None or not proves(table, stop) or not proves(backward, stop):
            return part
        bounds = through(table, backward, stop)
        if bounds is None:
            return part
        better = self.rounded_worth(self.value + 1) - fixed
        fits = np.zeros(len(items), dtype=bool)
        fits[self.fix(part).items] = True
        fits[numbers] = bounds.item >= better
        busy = part.busy.copy()
        busy[np.unique(items.row[numbers])] |= bounds.idle < better
        return Part(part.keep & fits, busy)

    def rounded_worth(self, value: int) -> int:
        """Return the rounded worth of the incumbent's launches and a reduction."""
        rounded = self.items.rounded
        return -(-value >> rounded.shift) + self.launched * rounded.step

    def state_rounded(self, table: Table, fixed: int) -> None:
        """State the bound of a table with rounded reductions; it may prove the incumbent."""
        if not proves(table, self.run.stop_reason):
            return
        rounded = self.items.rounded
        most = fixed + table.most - self.launched * rounded.step
        most = max(self.value, most << rounded.shift)
        bound = Bound(self.items.seconds(most), "certified", "dp table, rounded up")
        if relative_gap(most, self.value) <= max(self.run.gap, SOLVER_PRECISION):
            self.prove(bound)
        else:
            self.bounds[1].append(bound)

    def slack(self, relaxation: Relaxation) -> int:
        """Return the largest loss of a choice in a better allocation than the incumbent."""
        return relaxation.bound - ((self.value + 1) << relaxation.shift)

    def at_bound(self, relaxation: Relaxation) -> bool:
        """Whether the relaxation proves the incumbent optimal, within the gap asked for."""
        bound, value = relaxation.bound >> relaxation.shift, self.value
        # As a fraction, since it may exceed a double.
        proved = bound - value <= Fraction(self.run.gap) * max(abs(bound), abs(value))
        if proved:
            self.prove(reduction_bound(self.items, relaxation))
        return proved

    def prove(self, bound: Bound) -> None:
        """Record that the incumbent is optimal by a bound of level 2."""
        self.bounds[1] = [bound]
        self.status = Status.OPTIMAL
        self.termination = None
        self.reason = ""

    def prove_launches(self) -> None:
        """Record that a table proves the number of jobs launched."""
        self.most = self.launched
        self.bounds[0] = [Bound(self.most, "certified", "dp table")]

    def table_bound(self) -> Bound:
        """Return the bound of level 2 by a table that the incumbent attains."""
        return Bound(self.items.seconds(self.value), "certified", "dp table")
