"""A lower bound from a tree over the homes of tables, with the linear relaxation at each node.

A home is a fixed column of the relaxation, and every node's bound is recomputed from its duals in
exact arithmetic. A region is left out only if an exact sum of sizes shows that it has no room: a
node that the solver calls infeasible, or fails at, keeps the bound of the node above.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from dlsched.errors import SolverFailure
from dlsched.problems.placement.definition.check import TOLERANCE, rounding_margin
from dlsched.problems.placement.definition.schema import Instance
from dlsched.problems.placement.exact.tree import Homes, Room, best_first, heaviest
from dlsched.problems.placement.model import columns_by_name
from dlsched.problems.placement.programs.tunables import TUNABLES
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.certificate import dual_bound
from dlsched.solvers.standard_form import StandardForm


class RelaxationTree:
    """A best-first search over the homes of the tables of which most bytes are read.

    Parameters
    ----------
    instance
        The instance.
    form
        Its model, with the tangents of the relaxation's last round.
    root
        A lower bound on the cost.
    tables
        How many tables get a home in the tree.
    """

    def __init__(self, instance: Instance, form: StandardForm, root: float, tables: int) -> None:
        self.form = form
        self.root = root
        self.margin = rounding_margin(instance)
        heavy = heaviest(instance)[:tables]
        self.room = Room(instance, heavy)
        column = columns_by_name(form)["x"]
        names = [instance.tables[t].id for t in heavy]
        regions = instance.regions
        self.columns = np.array([[column[name, region.id] for region in regions] for name in names])

    def bound(self, run: Run, nodes: int) -> float:
        """Return the least bound of an open node, after this many relaxations or at a limit.

        As many relaxations are solved at a time as the run has threads.
        """
        bound = self.root
        done = 0
        with ThreadPoolExecutor(run.threads) as pool:

            def values(children: list[Homes]) -> Iterable[float]:
                return pool.map(lambda homes: self.value(homes, run), children)

            for bound, made in best_first(self.root, len(self.columns), self.room, values, run):
                done += made
                if made:
                    run.record(None, bound)
                if done >= nodes:
                    break
        return bound

    def value(self, homes: Homes, run: Run) -> float:
        """Return a lower bound on the cost with these homes of the first tables; 0 at a limit."""
        if run.stop_reason():
            return 0.0
        lower = self.form.lower.copy()
        upper = self.form.upper.copy()
        for columns, r in zip(self.columns, homes, strict=False):
            upper[columns] = 0
            lower[columns[r]] = upper[columns[r]] = 1
        form = replace(self.form, lower=lower, upper=upper)
        try:
            duals = highs.interior_point(
                form, 0, run, threads=1, accuracy=TUNABLES.last_accuracy
            ).duals
        except SolverFailure:  # with numbers of very different sizes
            duals = None
        # Exact arithmetic has no limit of its own, and takes seconds on large relaxations.
        if duals is None or run.stop_reason():
            return 0.0
        return float(dual_bound(form, 0, duals) or 0) * (1 - TOLERANCE) - self.margin
