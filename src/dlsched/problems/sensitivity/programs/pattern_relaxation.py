"""The relaxation of the program of choices and patterns, by column generation."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

import numpy as np

from dlsched.problems.sensitivity.programs.pattern_matrix import pattern_supply, standard_form
from dlsched.problems.sensitivity.programs.pattern_program import (
    PRECISION,
    Lagrangian,
    Prices,
    Program,
)
from dlsched.problems.sensitivity.structures.server_patterns import Pattern
from dlsched.results.result import Termination
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.column_generation import generate
from dlsched.solvers.incremental import IncrementalProgram

_MANY_ROWS = 300
"""A program with more rows can be interrupted; the callback takes a tenth of a solve's time."""


class Relaxed(NamedTuple):
    """The prices and the program at the optimum; whether the number of servers suffices."""

    prices: Prices
    fits: bool
    master: Master


def relax(program: Program, run: Run, floor: int | None = None, gap: float = 0.0) -> Relaxed | None:
    """Solve the relaxation by column generation; ``None`` if that was not possible.

    Phase 1, where the patterns known do not hold the jobs: minimise the number of additional
    servers needed; if it is above 0, there is no solution. Phase 2: the objective; with a floor on
    the throughput that is the number of split jobs. It ends when no pattern has a positive reduced
    cost, or when the throughput's certified bound is within a relative gap.
    """
    master = Master(program, run, floor)

    def price(prices: Prices) -> tuple[float, list[Pattern]] | None:
        """Return patterns, none if the bound is within the gap, and the bound if that may end it.

        Without a gap the search goes on to the optimum, whose prices exclude most columns.
        """
        bound = math.inf
        if not master.short and floor is None:
            certified = program.lower(Lagrangian(program, prices).throughput())
            bound = float(certified / program.unit) if gap else math.inf
        if bound - master.objective <= gap * abs(master.objective):
            return bound, []
        patterns = program.price(prices, run)
        return None if not patterns and run.stop_reason() else (bound, patterns)

    rounds = deque(generate(master, price, run, close=gap), maxlen=1)
    if not rounds or not rounds[0].last:
        return None
    return Relaxed(rounds[0].prices, not master.short, master)


class Master:
    """The linear program over the patterns known; each solve starts from the last one's basis.

    Columns are those of `standard_form` at the time, then the number of additional servers, then
    the patterns that came later. Additional servers are allowed only if `short`, in phase 1; the
    last optimum, `values` and `objective`, is without their column.
    """

    def __init__(self, program: Program, run: Run, floor: int | None = None) -> None:
        form = standard_form(program, pattern_supply(program), floor)
        form.upper[:] = np.inf  # rows imply the bounds, but for phase 1
        unit, costs, _ = form.conditioned(0)
        self.program = program
        self.run = run
        self.unit = float(unit)
        self.short = False
        self.sign = 1.0 if floor is None else -1.0  # of duals, so that prices are positive
        self.known = len(program.patterns)  # those that are columns
        self.extra = form.shape[1]  # position of the column of additional servers
        self.costs = np.append(costs, 0.0)
        self.objective = 0.0
        self.values = np.zeros(self.extra)
        self.more = 0.0
        options = {"presolve": "off"}
        large = form.shape[0] > _MANY_ROWS
        self.solver = IncrementalProgram(run, options=options, interruptible=large)
        highs.load(self.solver.session, form, 0, False)
        self.items = len(program.counts)  # position of the first item's row
        self.servers = self.items + len(program.items)  # position of the row of servers
        self.solver.add_column(0.0, 0.0, 0.0, [self.servers], [-1.0])

    def add(self, columns: Iterable[Pattern]) -> bool:
        """Add the patterns that are new; return whether there are any."""
        self.program.add(columns)
        for pattern in islice(self.program.patterns, self.known, None):
            supplied = np.flatnonzero(pattern)
            rows = np.append(self.items + supplied, self.servers)
            entries = np.append(-np.array(pattern)[supplied], 1.0)
            self.solver.add_column(0.0, 0.0, np.inf, rows, entries)
        before = self.known
        self.known = len(self.program.patterns)
        return self.known > before

    def solve(self) -> tuple[float, Prices] | None:
        """Return optimum and prices; ``None`` if a limit struck, or a job has no options."""
        solved = self.optimal()
        if not solved and not self.short and not self.run.stop_reason():
            self._allow(True)
            solved = self.optimal()
        if solved and self.short and self.more < PRECISION.tolerance:
            self._allow(False)
            solved = self.optimal()
        if not solved:
            return None
        duals = self.solver.duals * (self.sign if self.short else self.sign * self.unit)
        return self.sign * self.objective, self.program.prices(duals)

    def optimal(self) -> bool:
        """Solve the program; return whether there is an optimum."""
        if self.solver.solve() is not Termination.PROVED:
            return False
        values = self.solver.values
        self.more = float(values[self.extra])
        self.values = np.delete(values, self.extra)
        self.objective = self.solver.objective * self.unit
        return True

    def _allow(self, additional: bool) -> None:
        """Begin phase 1, or end it: then the additional servers are 0 within the tolerance."""
        self.short = additional
        costs = np.zeros(len(self.costs)) if additional else self.costs
        if additional:
            costs[self.extra] = -self.sign
        self.solver.set_costs(costs)
        self.solver.set_bounds(self.extra, 0.0, np.inf if additional else self.more)
