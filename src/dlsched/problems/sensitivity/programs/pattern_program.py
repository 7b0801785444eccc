"""The master problem of choices and server patterns: column generation, bound, integer program."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from operator import mul

import numpy as np

from dlsched.problems.sensitivity.definition.schema import Choice, Instance
from dlsched.problems.sensitivity.programs.dominated_items import conversions
from dlsched.problems.sensitivity.programs.lagrangian import Cutoff, Lagrangian, Option, Prices
from dlsched.problems.sensitivity.programs.pattern_enumeration import maximal
from dlsched.problems.sensitivity.structures.server_patterns import Item, Pattern, Server
from dlsched.run import Run
from dlsched.schema import granularity
from dlsched.solvers.outcome import Vector

TOLERANCE = 1e-7
"""Of a solver's prices, and of its values."""
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
        self.instance = instance
        self.penalty = penalty
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
        numerator, denominator = self.granularity.as_integer_ratio()
        multiples = {
            key: rate.numerator * denominator // (rate.denominator * numerator)
            for key, rate in rates.items()
        }
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
        """On the throughput, as a multiple of the granularity: certified as `tighten` sets it, but
        `exact.throughput_level` may lower it by a claimed one."""

    def _options(self, name: str, choice: Choice, whole: bool, units: bool) -> list[Option]:
        gpus = self.instance.profiles[name].gpus
        most = self.instance.servers.gpus
        options = []
        if gpus == 1 or (whole and gpus <= most):
            item = self._item(Item(gpus, choice.cpus, choice.memory))
            options.append(Option(name, choice, item, 1, False))
        if gpus > 1 and (units or (gpus > most and self.instance.allow_split)):
            item = self._item(Item(1, choice.cpus, choice.memory))
            options.append(Option(name, choice, item, gpus, True))
        return options

    def _item(self, item: Item) -> int:
        return self.index.setdefault(item, len(self.index))

    def add(self, patterns: Iterable[Pattern]) -> None:
        """Add the patterns that are new and not empty."""
        self.patterns |= dict.fromkeys(filter(any, patterns))

    @property
    def floor_scale(self) -> float:
        """Factor of the row of the floor.

        A power of two, so that the solver's tolerance is below a granularity, or as small as
        possible.
        """
        largest = max(1.0, float(self.costs.max(initial=1.0)) / _LARGEST_ENTRY)
        return float(2.0 ** -math.ceil(math.log2(largest)))

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
        every = maximal(self.server, most, [cutoff.floor for cutoff in cutoffs], run)
        if every is not None:
            self.add(every)
        return every is not None

    def price(self, prices: Prices, run: Run) -> list[Pattern]:
        """Return patterns of positive reduced cost: the best, and the best with each item."""
        patterns = []
        values = prices.items
        for first in [None, *range(len(self.items))]:
            if first is not None and values[first] <= 0:
                continue
            if first is not None and run.stop_reason():
                break
            pattern = self.server.pattern(prices.table, values, first)
            if pattern and sum(map(mul, values, pattern)) > prices.limit:
                patterns.append(pattern)
        return patterns

    def prices(self, duals: Vector) -> Prices:
        """Return row duals as prices, integers as fine as the table's 64 bits allow.

        A pattern has no more items than a server has GPUs.
        """
        p = len(self.counts)
        kinds = len(self.items)
        items = np.maximum(duals[p : p + kinds], 0.0)
        server = max(0.0, float(duals[p + kinds]))
        tolerance = TOLERANCE * max(1.0, float(np.abs(duals).max()))
        largest = float(items.max(initial=0.0)) * self.instance.servers.gpus
        fine = _FINEST
        if largest > 0:
            fine = min(fine, math.floor(math.log2(_LARGEST_VALUE / largest)))
        whole = [int(v) for v in np.rint(np.ldexp(items, fine)).tolist()]
        limit = int(math.ldexp(server, fine)) + math.ldexp(tolerance, fine)
        scale = Fraction(2) ** fine
        floor = max(0.0, -float(duals[p + kinds + 1])) if len(duals) > p + kinds + 1 else 0.0
        throughput = Fraction(floor) * Fraction(self.floor_scale) * scale / self.unit
        table = self.server.table(whole)
        return Prices(whole, limit, scale / self.unit, scale, throughput, table)

    def tighten(self, prices: Prices) -> None:
        """Tighten the bound on the throughput by the Lagrangian bound of these prices."""
        bound = self.lagrangian(prices).throughput()
        self.bound = bound if self.bound is None else min(self.bound, bound)

    def excess(self, objective: float) -> float:
        """Return how much the bound on the throughput is above a solver's objective, relatively."""
        assert self.bound is not None
        bound = float(self.bound / self.unit)
        return (bound - objective) / max(bound, 1.0)
