"""The restricted master problem: set partitioning over the groups known so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched.problems.interleaving.programs.column_pool import GroupPool
from dlsched.problems.interleaving.programs.columns import Groups, Prices
from dlsched.results.result import Status, Termination
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.column_generation import CLOSE
from dlsched.solvers.incremental import IncrementalProgram
from dlsched.solvers.outcome import Outcome
from dlsched.solvers.standard_form import StandardForm

if TYPE_CHECKING:
    from scipy import sparse


def matrix(pool: GroupPool, groups: Groups) -> sparse.csc_array:
    """Return the rows of the profiles and, if there is a budget, of the GPUs."""
    from scipy import sparse

    columns, places = np.nonzero(groups.members >= 0)
    rows = groups.members[columns, places]
    shape = (len(pool.multiplicity), len(groups))
    A = sparse.csc_array(sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=shape))
    if pool.budget is not None:
        A = sparse.vstack([A, sparse.csc_array(pool.gpus(groups)[None, :])], format="csc")
    A.sum_duplicates()
    return A


class GroupMaster:
    """The linear relaxation; each solve starts from the last one's basis."""

    def __init__(self, pool: GroupPool, run: Run) -> None:
        self.pool = pool
        self.known: set[bytes] = set()
        self.least_gain = -np.inf
        """Reduced value of a group above which it can improve the last optimum: above 0, since
        within the solver's tolerances columns can still have a positive one."""
        self.prices = Prices(np.zeros(len(pool.multiplicity)), 0.0)
        # Gammas that are nearly equal differ by less than HiGHS's usual tolerance.
        options = {"dual_feasibility_tolerance": 1e-10}
        self.program = IncrementalProgram(run, maximize=True, options=options)
        self.program.add_rows(pool.multiplicity, pool.multiplicity)
        if pool.budget is not None:
            self.program.add_row(-np.inf, float(pool.budget))

    def add(self, groups: Groups) -> bool:
        """Add new columns if one of them can improve the last optimum; return whether it can."""
        new = groups.without(self.known)
        if not (self.pool.reduced(self.prices, new) > self.least_gain).any():
            return False
        self.known.update(new.identities())
        self.program.add_columns(new.worth, matrix(self.pool, new))
        return True

    def solve(self) -> tuple[float, Prices] | None:
        """Return the optimum over the known columns and its prices; ``None`` if stopped."""
        if self.program.solve() is not Termination.PROVED:
            return None
        duals = self.program.duals
        optimum = self.program.objective
        rows = len(self.pool.multiplicity)
        gpu = max(0.0, float(duals[rows])) if self.pool.budget is not None else 0.0
        self.prices = Prices(duals[:rows], gpu)
        self.least_gain = CLOSE * abs(optimum) / rows
        return optimum, self.prices


def choice_form(pool: GroupPool, groups: Groups) -> StandardForm:
    """Return the integer master over some groups."""
    lower = pool.multiplicity.astype(float)
    upper = lower
    if pool.budget is not None:
        lower = np.append(lower, -np.inf)
        upper = np.append(upper, pool.budget)
    most = np.full(len(groups), float(pool.multiplicity.max(initial=0)))
    return StandardForm.of(matrix(pool, groups), lower, upper, most, groups.worth, sense="max")


def counted_form(pool: GroupPool, groups: Groups) -> StandardForm:
    """Return the integer master with a column for the number of groups of each class, after theirs.

    The row of the GPUs is one of these numbers alone: with few of them it is a knapsack, whose cuts
    are strong, and a branch on a number of groups decides more than one on a group.
    """
    from scipy import sparse

    classes = len(pool.classes)
    of_class = np.bincount(pool.class_of, weights=pool.multiplicity, minlength=classes)
    covers = matrix(pool, groups)[: len(pool.multiplicity)]
    counts = sparse.csc_array(
        (np.ones(len(groups)), (groups.class_of, np.arange(len(groups)))),
        shape=(classes, len(groups)),
    )
    gpus = sparse.csc_array(pool.class_gpus[None, :].astype(float))
    blocks: list[list[Any]] = [[covers, None], [counts, -sparse.eye_array(classes)], [None, gpus]]
    fixed = np.append(pool.multiplicity.astype(float), np.zeros(classes))
    form = StandardForm.of(
        sparse.csc_array(sparse.block_array(blocks, format="csc")),
        np.append(fixed, -np.inf),
        np.append(fixed, float(pool.budget or 0)),
        np.append(np.full(len(groups), float(pool.multiplicity.max(initial=0))), of_class),
        np.append(groups.worth, np.zeros(classes)),
        sense="max",
    )
    form.lower[len(groups) :] = np.ceil(of_class / pool.largest)
    return form


def best_choice(
    pool: GroupPool, groups: Groups, run: Run, start: Groups | None = None
) -> tuple[Outcome, Groups | None]:
    """Solve the integer master over some groups; return the outcome, and the groups it takes.

    Parameters
    ----------
    start
        A known solution, of these groups.
    """
    counted = pool.budget is not None and len(pool.classes) > 1
    form = counted_form(pool, groups) if counted else choice_form(pool, groups)
    point = None if start is None else groups.often_in(start)
    if counted and point is not None:
        classes = len(pool.classes)
        point = np.append(point, np.bincount(groups.class_of, weights=point, minlength=classes))
    outcome = highs.solve(form, 0, run, start=point, quiet=True)
    if outcome.values is None or outcome.status is Status.INFEASIBLE:
        return outcome, None
    often = np.rint(outcome.values[: len(groups)]).astype(np.int64)
    return outcome, groups[np.repeat(np.arange(len(groups)), often)]
