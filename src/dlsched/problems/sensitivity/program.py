"""Choices for jobs, patterns for servers: column generation, its bound, and the integer program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dlsched.problems.sensitivity.packing import Item, Pattern, Server
from dlsched.problems.sensitivity.schema import Choice, Instance
from dlsched.run import Run
from dlsched.schema import grid
from dlsched.solvers.outcome import Outcome, Vector
from dlsched.solvers.standard_form import StandardForm

PRICE_UNIT = 2**24
"""Prices are whole multiples of the throughput's grid over this."""
_TOLERANCE = 1e-7


@dataclass(frozen=True)
class Option:
    """A way to serve a job of one profile: a choice, and so many items of one kind."""

    profile: str
    choice: Choice
    item: int
    amount: int
    split: bool


@dataclass(frozen=True)
class Relaxed:
    """The relaxation's row duals and optimum, and whether the servers there are suffice."""

    duals: Vector
    objective: float
    fits: bool


class Near(NamedTuple):
    """Prices, and how far below their bound a solution of interest can be, in grid units."""

    duals: Vector
    slack: int


class Program:
    """The master problem.

    ``counts`` are jobs by profile. An option is taken a whole number of times, and patterns supply
    the items that options need. With `whole` jobs may stay together as one item, with `units` they
    may be made of single GPUs, which may sit on several servers.
    """

    def __init__(self, instance: Instance, *, whole: bool, units: bool) -> None:
        self.instance = instance
        self.counts: dict[str, int] = {}
        for job in instance.jobs:
            self.counts[job.profile] = self.counts.get(job.profile, 0) + 1
        self.items: list[Item] = []
        self.options = [
            option
            for name in self.counts
            for choice in instance.undominated[name]
            for option in self._options(name, choice, whole, units)
        ]
        self.grid = grid(o.choice.throughput for o in self.options) or Fraction(1)
        self.worth = [int(Fraction(o.choice.throughput) / self.grid) for o in self.options]
        self.server = Server(instance.servers, self.items)
        self.patterns: list[Pattern] = []
        self.known: set[Pattern] = set()
        self.bound: int | None = None
        """On the throughput, in units of its grid; certified by `check_prices`."""

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
        if item not in self.items:
            self.items.append(item)
        return self.items.index(item)

    def add(self, patterns: Sequence[Pattern]) -> None:
        """Add patterns that are not there yet."""
        for pattern in patterns:
            if pattern not in self.known and any(pattern):
                self.known.add(pattern)
                self.patterns.append(pattern)

    def form(self, floor: int | None = None) -> StandardForm:
        """Return the program; with a floor on the throughput it minimises the jobs that are split.

        Rows: jobs of each profile, items of each kind, servers, and the floor.
        """
        profiles = {name: i for i, name in enumerate(self.counts)}
        n, kinds, k = len(self.options), len(self.items), len(self.patterns)
        rows, columns, entries = [], [], []
        for c, option in enumerate(self.options):
            rows += [profiles[option.profile], len(profiles) + option.item]
            columns += [c, c]
            entries += [1, option.amount]
        servers = len(profiles) + kinds
        for p, pattern in enumerate(self.patterns):
            used = [i for i, count in enumerate(pattern) if count]
            rows += [len(profiles) + i for i in used] + [servers]
            columns += [n + p] * (len(used) + 1)
            entries += [-pattern[i] for i in used] + [1]
        if floor is not None:
            rows += [servers + 1] * n
            columns += range(n)
            entries += self.worth
        count = list(self.counts.values())
        extra = [] if floor is None else [float(floor)]
        height = servers + 1 + len(extra)
        A = sparse.csc_array(
            sparse.coo_array(
                (np.array(entries, dtype=float), (rows, columns)), shape=(height, n + k)
            )
        )
        infinite = np.full(kinds + 1, -np.inf)
        upper = np.array([self.counts[o.profile] for o in self.options], dtype=float)
        limit = float(self.instance.servers.count)
        costs = self.worth if floor is None else [int(o.split) for o in self.options]
        return StandardForm.of(
            A,
            np.concatenate([np.array(count, dtype=float), infinite, extra]),
            np.concatenate(
                [np.array(count, dtype=float), np.zeros(kinds), [limit], [np.inf] * len(extra)]
            ),
            np.concatenate([upper, np.full(k, limit)]),
            np.concatenate([np.array(costs, dtype=float), np.zeros(k)]),
            sense="max" if floor is None else "min",
            grid=Fraction(1),
        )

    def relax(self, run: Run, floor: int | None = None) -> Relaxed | None:
        """Generate patterns until none helps; ``None`` if a limit struck.

        First, if the patterns known cannot hold all jobs, those that can: the least number of
        servers beyond those there are is sought, and if it is not 0, there is no solution.
        """
        from dlsched.solvers import highs

        short = True
        while not run.stop_reason():
            form = self._lengthened(floor) if short else self.form(floor)
            outcome = highs.solve(form, 0, run, relax=True)
            if outcome.duals is None or outcome.values is None:
                return None
            if short and outcome.values[-1] < _TOLERANCE:
                short = False
                continue
            duals = -outcome.duals if short or floor is not None else outcome.duals
            if not short and floor is None:
                self.check_prices(duals)
            before = len(self.patterns)
            self.add(self.price(duals))
            if len(self.patterns) == before:
                return Relaxed(duals, float(outcome.objective or 0), not short)
        return None

    def _lengthened(self, floor: int | None) -> StandardForm:
        """Return the program of the fewest servers that are missing, in the last column."""
        form = self.form(floor)
        column = np.zeros((form.shape[0], 1))
        column[len(self.counts) + len(self.items), 0] = -1.0
        return replace(
            form,
            A=sparse.csc_array(sparse.hstack([form.A, sparse.csc_array(column)])),
            lower=np.append(form.lower, 0.0),
            upper=np.full(form.shape[1] + 1, np.inf),
            integer=np.append(form.integer, False),
            costs=(np.append(np.zeros(form.shape[1]), 1.0),),
            senses=("min",),
        )

    def complete(self, most: int, near: Near) -> bool:
        """Add every pattern that can be in a better solution, if there are not too many.

        By these prices a solution that uses a pattern worth less than the best one by more than
        the slack, in units of the throughput's grid, is further than that from their bound.
        """
        values, _ = self._values(near.duals)
        best = int(self.server.table(values)[-1, -1, -1])
        every = self.server.maximal(most, values, best - (near.slack + 1) * PRICE_UNIT)
        if every is not None:
            self.add(every)
        return every is not None

    def price(self, duals: Vector) -> list[Pattern]:
        """Return patterns worth more than a server: the best, and the best with each item."""
        values, server = self._values(duals)
        table = self.server.table(values)
        limit = server + _TOLERANCE * PRICE_UNIT * max(1.0, float(np.abs(duals).max()))
        found = []
        for first in [None, *range(len(self.items))]:
            if first is not None and values[first] <= 0:
                continue
            pattern = self.server.pattern(table, values, first)
            worth = sum(v * c for v, c in zip(values, pattern or (), strict=False))
            if pattern is not None and worth > limit:
                found.append(pattern)
        return found

    def _values(self, duals: Vector) -> tuple[list[int], int]:
        """Return items' prices and that of a server in whole units."""
        p, kinds = len(self.counts), len(self.items)
        prices = np.maximum(duals[p : p + kinds], 0.0)
        values = [int(v) for v in np.rint(prices * PRICE_UNIT).tolist()]
        return values, int(max(0.0, duals[p + kinds]) * PRICE_UNIT)

    def check_prices(self, duals: Vector) -> None:
        """Tighten the bound on the throughput by these prices of items, in exact integers.

        A job is worth at most what its best option leaves after its items are paid, and the
        servers' items cost at most what the best pattern does, times the servers (Lagrangian
        duality): so any prices give a bound, and nothing of the solver is believed.
        """
        values, _ = self._values(duals)
        left: dict[str, int] = {}
        for option, surplus in zip(self.options, self._surplus(values), strict=True):
            left[option.profile] = max(left.get(option.profile, surplus), surplus)
        jobs = sum(count * left[name] for name, count in self.counts.items())
        best = int(self.server.table(values)[-1, -1, -1])
        bound = (jobs + self.instance.servers.count * best) // PRICE_UNIT
        self.bound = bound if self.bound is None else min(self.bound, bound)

    def integer(self, run: Run, floor: int | None = None, near: Near | None = None) -> Outcome:
        """Solve the integer program over the patterns known.

        With `near`, options that no solution within the slack of the bound can use are left out.
        """
        from dlsched.solvers import highs

        form = self.form(floor)
        if near is not None:
            values, _ = self._values(near.duals)
            surplus = self._surplus(values)
            best: dict[str, int] = {}
            for option, left in zip(self.options, surplus, strict=True):
                best[option.profile] = max(best.get(option.profile, left), left)
            out = [
                best[option.profile] - left > (near.slack + 1) * PRICE_UNIT
                for option, left in zip(self.options, surplus, strict=True)
            ]
            form.upper[: len(out)][np.array(out)] = 0.0
        return highs.solve(form, 0, run, quiet=True)

    def _surplus(self, values: Sequence[int]) -> list[int]:
        """Return what each option leaves after its items are paid, in price units."""
        return [
            worth * PRICE_UNIT - option.amount * values[option.item]
            for option, worth in zip(self.options, self.worth, strict=True)
        ]

    def value(self, x: Vector) -> int:
        """Return the throughput of a point in units of its grid."""
        taken = np.rint(x[: len(self.options)]).astype(int).tolist()
        return sum(w * t for w, t in zip(self.worth, taken, strict=True))


def patterns_of(program: Program, solution: Any) -> list[Pattern]:
    """Return the patterns of a solution's servers; jobs it splits, or might, are single GPUs."""
    index = {item: i for i, item in enumerate(program.items)}
    servers: dict[str, list[int]] = {}
    for job in program.instance.jobs:
        given = solution.allocation[job.id]
        gpus = program.instance.profile(job).gpus
        options = [o for o in program.options if o.profile == job.profile]
        worth = program.instance.profile(job).at(given.cpus, given.memory) or 0
        best = next(
            o.choice
            for o in options
            if o.choice.cpus <= given.cpus
            and o.choice.memory <= given.memory
            and o.choice.throughput >= worth
        )
        together = Item(gpus, best.cpus, best.memory)
        for server, count in given.gpus.items():
            row = servers.setdefault(server, [0] * len(index))
            if count == gpus and together in index:
                row[index[together]] += 1
            else:
                row[index[Item(1, best.cpus, best.memory)]] += count
    return [tuple(row) for row in servers.values()]
