"""Bounds for placement: what indivisible tables and jobs leave, and trees of homes."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dlsched.errors import OptionError, SolverFailure
from dlsched.problems.placement.definition.check import TOLERANCE, rounding_margin
from dlsched.problems.placement.definition.schema import Instance
from dlsched.problems.placement.exact import Refinement
from dlsched.problems.placement.exact.tree import Homes, HomeTree, Room, best_first, heaviest
from dlsched.problems.placement.model import columns_by_name
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.indivisible_bounds import indivisible_cost, whole
from dlsched.problems.placement.programs.rounding import below
from dlsched.problems.placement.programs.tunables import TUNABLES
from dlsched.registry.own import method
from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.certificate import dual_bound
from dlsched.solvers.standard_form import StandardForm


@method("placement", kind="bound")
def indivisible_bound(instance: Instance, run: Run) -> Claim:
    """The least imbalances of storage (3) and GPUs (2) with indivisible tables and jobs.

    Storage: all homes of the largest tables, with the others divisible. GPUs: each type and
    priority is taken by itself, with the sigmoid at 1/2. Jobs with equal tables run in the same
    region. A training job with several tables may run nowhere, and then pays the traffic (1) of its
    bytes; every other job must run somewhere. Ours, not the paper's.
    """
    shares = Shares(instance)
    value = indivisible_cost(shares, whole(shares, run))
    return _claim(value, "searches over the largest tables and jobs")


@method("placement", kind="bound")
def home_tree(
    instance: Instance, run: Run, tables: int = 32, nodes: int = 10_000, job_nodes: int = 30
) -> Claim:
    """A tree over the homes of the tables of which most bytes are read.

    Each node is bounded as in `indivisible_bound`, given the homes of its tables: a training job
    whose tables are apart pays its traffic, an analytics job that of the tables elsewhere. The
    least bound of an open node counts. Ours, not the paper's.

    Parameters
    ----------
    tables
        Tables that get a home in the tree.
    nodes
        Nodes of the tree; the bound grows with their number.
    job_nodes
        Nodes of the search over the jobs of one type and priority at a node of the tree.
    """
    if min(tables, nodes, job_nodes) < 0:
        raise OptionError("tables, nodes and job_nodes must be from 0")
    value = HomeTree(instance, tables, job_nodes).bound(run, nodes)
    return _claim(value, "a tree over the homes of tables")


@method("placement", kind="bound")
def relaxation_tree(
    instance: Instance,
    run: Run,
    tables: int = 16,
    nodes: int = 50,
    spreading: int = TUNABLES.spreading_rounds,
) -> Claim:
    """A tree over the homes of the tables of which most bytes are read, above the relaxation.

    The root is the model's linear relaxation with the rows of `indivisible_bound`. It links traffic
    and balance through shared tables; rows from a spreading metric say that jobs which share tables
    run in the same region. Each node has its tables at their homes. Bounds are recomputed from the
    duals in exact arithmetic; the least of an open node counts. As many relaxations are solved at a
    time as the run has threads, with the same bound. Ours, not the paper's.

    Parameters
    ----------
    tables
        Tables that get a home in the tree.
    nodes
        Relaxations in the tree, about; the bound grows with their number. 0 for the root alone.
    spreading
        Solutions of the root at most with the spreading rows that the one before violates; the
        nodes have its rows.
    """
    if min(tables, nodes, spreading) < 0:
        raise OptionError("tables, nodes and spreading must be from 0")
    refinement = Refinement(instance, run)
    refinement.relax(spreading=spreading)
    if refinement.relaxed is None or not nodes:
        return refinement.claim(Status.NO_SOLUTION, Termination.BOUND_ONLY)
    root = max(refinement.indivisible, refinement.dual or 0.0)
    tree = RelaxationTree(instance, refinement.relaxed, root, tables)
    value = tree.bound(run, nodes)
    return _claim(value, "duals of the relaxation at the nodes of a tree")


class RelaxationTree:
    """A best-first search over the homes of the tables of which most bytes are read.

    A home is a fixed column of the relaxation, and every node's bound is recomputed from its duals
    in exact arithmetic. A region is left out only if an exact sum of sizes shows that it has no
    room: a node that the solver calls infeasible, or fails at, keeps the bound of the node above.
    The form is the model with the tangents of the relaxation's last round, `root` its bound.
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


def _claim(value: Fraction | float, how: str) -> Claim:
    bound = Bound(below(value), "certified", how)
    return Claim(status=Status.NO_SOLUTION, bounds=[[bound]])
