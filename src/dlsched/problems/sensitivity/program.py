"""The master problem of choices and server patterns: column generation, bound, integer program."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from operator import mul

import numpy as np

from dlsched.problems.sensitivity.conversions import conversions
from dlsched.problems.sensitivity.lagrangian import Cutoff, Lagrangian, Option, Prices
from dlsched.problems.sensitivity.packing import Item, Pattern, Server
from dlsched.problems.sensitivity.schema import Choice, Instance, Solution
from dlsched.problems.sensitivity.units import row_unit
from dlsched.run import Run
from dlsched.schema import Number, granularity
from dlsched.solvers import highs
from dlsched.solvers.outcome import Outcome, Vector
from dlsched.solvers.standard_form import StandardForm

TOLERANCE = 1e-7
"""Of a solver's prices, and of its values."""
_NEAR = 4
"""Difference to a point near which solutions are sought."""
_FINEST = 24
"""Dual prices are rounded to multiples of a cost unit over two to this power, or coarser."""
_LARGEST_VALUE = 2**59
"""Upper limit of a pattern's value at those prices, in the 64-bit integers of the table."""
_LARGEST_COST = 2**40
"""Costs are multiples of the granularity if the largest is below this, else scaled to it."""
_LARGEST_ENTRY = 2**20
"""Upper limit of the coefficients of the throughput row, as HiGHS's tolerances are absolute."""


class Program:
    """The master problem.

    Columns are the options, taken by jobs, and the patterns, used by servers; the patterns supply
    the items that the options need. ``counts`` are jobs by profile. With `whole` a job may be one
    item, on one server; with `units` it may be items of single GPUs, on any servers. A split job
    costs the solver `penalty` times the largest throughput; bounds are without it. With `convert`
    there are columns for conversions, too.
    """

    def __init__(
        self,
        instance: Instance,
        *,
        whole: bool,
        units: bool,
        penalty: float = 0.0,
        convert: bool = False,
    ) -> None:
        self.instance, self.penalty = instance, penalty
        self.counts = Counter(job.profile for job in instance.jobs)
        self.index: dict[Item, int] = {}
        self.options = [
            option
            for name in self.counts
            for choice in instance.undominated[name]
            for option in self._options(name, choice, whole, units)
        ]
        self.items = list(self.index)
        self.conversions = conversions(self.items) if convert else []
        rates = {id(o.choice): o.choice.throughput for o in self.options}
        self.granularity = granularity(rates.values()) or Fraction(1)
        multiples = {key: int(rate / self.granularity) for key, rate in rates.items()}
        self.values = [multiples[id(o.choice)] for o in self.options]
        self.unit = max(Fraction(1), Fraction(max(self.values, default=1), _LARGEST_COST))
        """Unit of the solver's costs, as a multiple of the granularity; 1 unless that is fine."""
        costs = np.array([float(value / self.unit) for value in self.values])
        split = np.array([float(o.split) for o in self.options])
        self.costs = costs - penalty * costs.max(initial=0.0) * split
        self.server = Server(instance.servers, self.items)
        self.patterns: dict[Pattern, None] = {}
        self.least_jobs = 0 if instance.may_wait else 1
        self.bound: int | None = None
        """On the throughput, as a multiple of the granularity; certified by `tighten`."""

    def _options(self, name: str, choice: Choice, whole: bool, units: bool) -> list[Option]:
        gpus, most = self.instance.profiles[name].gpus, self.instance.servers.gpus
        found = []
        if gpus == 1 or (whole and gpus <= most):
            item = self._item(Item(gpus, choice.cpus, choice.memory))
            found.append(Option(name, choice, item, 1, False))
        if gpus > 1 and (units or (gpus > most and self.instance.allow_split)):
            item = self._item(Item(1, choice.cpus, choice.memory))
            found.append(Option(name, choice, item, gpus, True))
        return found

    def _item(self, item: Item) -> int:
        return self.index.setdefault(item, len(self.index))

    def add(self, patterns: Iterable[Pattern]) -> None:
        """Add the patterns that are new and not empty."""
        self.patterns |= dict.fromkeys(filter(any, patterns))

    def form(self, floor: int | None = None, pooled: bool = False) -> StandardForm:
        """Return the program over the patterns known; with a floor it minimises the split jobs.

        Columns: options, conversions, patterns. Rows: jobs of each profile, items of each kind,
        servers, the floor on the throughput, and if `pooled` the CPUs and memory of all servers,
        which the patterns imply: solvers derive cuts from them.
        """
        from scipy import sparse

        profiles = {name: i for i, name in enumerate(self.counts)}
        n, kinds = len(self.options), len(self.items)
        k = len(self.conversions) + len(self.patterns)
        rows: list[int] = []
        columns: list[int] = []
        entries: list[float] = []
        for c, option in enumerate(self.options):
            rows += [profiles[option.profile], len(profiles) + option.item]
            columns += [c, c]
            entries += [1, option.amount]
        for c, (source, target, amount) in enumerate(self.conversions):
            rows += [len(profiles) + source, len(profiles) + target]
            columns += [n + c, n + c]
            entries += [1, -amount]
        first = n + len(self.conversions)
        for p, pattern in enumerate(self.patterns):
            at, supplied = self.column(pattern)
            rows += at
            columns += [first + p] * len(at)
            entries += supplied
        servers = len(profiles) + kinds
        count = np.array(list(self.counts.values()), dtype=float)
        extra = []
        if floor is not None:
            scale = self._scale
            rows += [servers + 1] * n
            columns += range(n)
            entries += (self.costs * scale).tolist()
            extra = [float(floor / self.unit) * scale]
        height = servers + 1 + len(extra)
        limits: list[float] = []
        if pooled:
            for amounts, most in self._amounts():
                rows += [height + len(limits)] * n
                columns += range(n)
                entries += amounts
                limits.append(most)
        height += len(limits)
        A = sparse.csc_array(
            sparse.coo_array(
                (np.array(entries, dtype=float), (rows, columns)), shape=(height, n + k)
            )
        )
        infinite = np.full(kinds + 1, -np.inf)
        upper = np.array([self.counts[o.profile] for o in self.options], dtype=float)
        limit = float(self.instance.servers.count)
        moved = np.full(len(self.conversions), limit * self.instance.servers.gpus)
        costs = self.costs if floor is None else np.array([float(o.split) for o in self.options])
        return StandardForm.of(
            A,
            np.concatenate([self.least_jobs * count, infinite, extra, [-np.inf] * len(limits)]),
            np.concatenate([count, np.zeros(kinds), [limit], [np.inf] * len(extra), limits]),
            np.concatenate([upper, moved, np.full(len(self.patterns), limit)]),
            np.concatenate([costs, np.zeros(k)]),
            sense="max" if floor is None else "min",
            granularity=Fraction(floor is not None or (self.unit == 1 and not self.penalty)),
        )

    def column(self, pattern: Pattern) -> tuple[list[int], list[float]]:
        """Return the rows and entries of a pattern's column."""
        first = len(self.counts)
        used = [i for i, count in enumerate(pattern) if count]
        rows = [first + i for i in used] + [first + len(self.items)]
        return rows, [*(-float(pattern[i]) for i in used), 1.0]

    @property
    def _scale(self) -> float:
        """Factor of the row of the floor.

        A power of two, so that the solver's tolerance is below a granularity, or as small as
        possible.
        """
        largest = max(1.0, float(self.costs.max(initial=1.0)) / _LARGEST_ENTRY)
        return float(2.0 ** -math.ceil(math.log2(largest)))

    def _amounts(self) -> list[tuple[list[float], float]]:
        """Return the CPUs of each option with those of all servers, and the same of memory."""
        servers, found = self.instance.servers, []
        for name in ("cpus", "memory"):
            each = [
                self.instance.profiles[o.profile].gpus * getattr(o.choice, name)
                for o in self.options
            ]
            total = servers.count * getattr(servers, name)
            unit = row_unit(total, each)
            found.append(([float(amount / unit) for amount in each], float(total / unit)))
        return found

    def lagrangian(self, prices: Prices, floor: int | None = None) -> Lagrangian:
        """Return the Lagrangian function of these prices; see there for the floor."""
        return Lagrangian(
            prices, self.options, self.values, self.counts, self.instance.servers.count,
            floor=floor, waiting=not self.least_jobs,
        )  # fmt: skip

    def complete(self, most: int, cutoffs: Sequence[Cutoff], run: Run) -> bool:
        """Add every maximal pattern that solutions from the cutoffs on can use.

        Returns
        -------
        bool
            False, with nothing added, if there are more than `most` or the run ended.
        """
        every = self.server.maximal(most, [cutoff.floor for cutoff in cutoffs], run)
        if every is not None:
            self.add(every)
        return every is not None

    def price(self, prices: Prices, run: Run) -> list[Pattern]:
        """Return patterns of positive reduced cost: the best, and the best with each item."""
        found, values = [], prices.items
        for first in [None, *range(len(self.items))]:
            if first is not None and values[first] <= 0:
                continue
            if first is not None and run.stop_reason():
                break
            pattern = self.server.pattern(prices.table, values, first)
            if pattern and sum(map(mul, values, pattern)) > prices.limit:
                found.append(pattern)
        return found

    def prices(self, duals: Vector) -> Prices:
        """Return row duals as prices, integers as fine as the table's 64 bits allow.

        A pattern has no more items than a server has GPUs.
        """
        p, kinds = len(self.counts), len(self.items)
        items = np.maximum(duals[p : p + kinds], 0.0)
        server = max(0.0, float(duals[p + kinds]))
        tolerance = TOLERANCE * max(1.0, float(np.abs(duals).max()))
        largest = float(items.max(initial=0.0)) * self.instance.servers.gpus
        fine = _FINEST
        if largest > 0:
            fine = min(fine, math.floor(math.log2(_LARGEST_VALUE / largest)))
        whole = [int(v) for v in np.rint(np.ldexp(items, fine)).tolist()]
        limit = int(math.ldexp(server, fine)) + math.ldexp(tolerance, fine)
        one = Fraction(2) ** fine
        floor = max(0.0, -float(duals[p + kinds + 1])) if len(duals) > p + kinds + 1 else 0.0
        throughput = Fraction(floor) * Fraction(self._scale) * one / self.unit
        table = self.server.table(whole)
        return Prices(whole, limit, one / self.unit, one, throughput, table)

    def tighten(self, prices: Prices) -> None:
        """Tighten the bound on the throughput by the Lagrangian bound of these prices."""
        bound = self.lagrangian(prices).throughput()
        self.bound = bound if self.bound is None else min(self.bound, bound)

    def excess(self, objective: float) -> float:
        """Return how much the bound on the throughput is above a solver's objective, relatively."""
        assert self.bound is not None
        bound = float(self.bound / self.unit)
        return (bound - objective) / max(bound, 1.0)

    def integer(
        self,
        run: Run,
        floor: int | None = None,
        cutoffs: Sequence[Cutoff] = (),
        nodes: int | None = None,
        target: float | None = None,
        near: Vector | None = None,
    ) -> Outcome:
        """Solve the integer program over the patterns known, with a limit on the nodes.

        It ends with an objective of at least `target`, too, in the units of ``costs``. With `near`,
        a point of the relaxation, each pattern is used at most `_NEAR` times more or less often
        than there: solutions as good are found in less time on large clusters.
        Options that solutions from the cutoffs on cannot use are fixed at 0.
        """
        form = self.form(floor, pooled=True)
        if near is not None:
            first = len(near) - len(self.patterns)
            form.lower[first:] = np.maximum(np.floor(near[first:] + TOLERANCE) - _NEAR, 0.0)
            form.upper[first:] = np.ceil(near[first:] - TOLERANCE) + _NEAR
        for cutoff in cutoffs:
            out = [
                cutoff.largest[option.profile] - left > cutoff.allowance
                for option, left in zip(self.options, cutoff.surplus, strict=True)
            ]
            form.upper[: len(out)][np.array(out)] = 0.0
        return highs.solve(form, 0, run, quiet=True, nodes=nodes, target=target)


def patterns_of(program: Program, solution: Solution) -> list[Pattern]:
    """Return the patterns of a solution's servers, for initial columns of a program.

    Raises
    ------
    KeyError
        If the solution splits a job that the program keeps together.
    """
    instance, index = program.instance, program.index
    servers: dict[str, list[int]] = {}
    better: dict[tuple[str, Number, Number], Choice] = {}
    for job in instance.jobs:
        given = solution.allocation.get(job.id)
        if given is None:
            continue
        key = job.profile, given.cpus, given.memory
        if key not in better:
            better[key] = instance.replacement(*key)
        choice, gpus = better[key], instance.profile(job).gpus
        together = Item(gpus, choice.cpus, choice.memory)
        for server, count in given.gpus.items():
            row = servers.setdefault(server, [0] * len(index))
            if count == gpus and together in index:
                row[index[together]] += 1
            else:
                row[index[Item(1, choice.cpus, choice.memory)]] += count
    return [tuple(row) for row in servers.values()]
