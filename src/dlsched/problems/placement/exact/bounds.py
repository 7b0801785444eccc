"""Bounds for placement: what indivisible tables and jobs leave, and a tree of homes."""

from __future__ import annotations

from fractions import Fraction

from dlsched.errors import OptionError
from dlsched.problems.placement.definition.schema import Instance
from dlsched.problems.placement.exact import Refinement
from dlsched.problems.placement.exact.relaxation_tree import RelaxationTree
from dlsched.problems.placement.exact.tree import HomeTree
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.indivisible_bounds import indivisible_cost, whole
from dlsched.problems.placement.programs.rounding import below
from dlsched.problems.placement.programs.tunables import TUNABLES
from dlsched.registry.own import method
from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Status
from dlsched.run import Run


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
def relaxation(
    instance: Instance,
    run: Run,
    rounds: int = TUNABLES.tangent_rounds,
    spreading: int = TUNABLES.spreading_rounds,
) -> Claim:
    """The model's linear relaxation with the rows of `indivisible_bound`, in exact arithmetic.

    The bound is recomputed from the duals. It links traffic and balance through shared tables; rows
    from a spreading metric say that jobs which share tables run in the same region. On large
    instances the relaxation is solved by interior point. Ours, not the paper's.

    Parameters
    ----------
    rounds
        Solutions of the relaxation at most, each with tangents at the one before.
    spreading
        Further ones at most, each with the spreading rows that the one before violates.
    """
    if rounds < 1 or spreading < 0:
        raise OptionError("rounds must be from 1, spreading from 0")
    refinement = Refinement(instance, run)
    refinement.relax(rounds, spreading)
    return _relaxed(refinement)


@method("placement", kind="bound")
def relaxation_tree(
    instance: Instance,
    run: Run,
    tables: int = 16,
    nodes: int = 50,
    spreading: int = TUNABLES.spreading_rounds,
) -> Claim:
    """A tree over the homes of the tables of which most bytes are read, above `relaxation`.

    Each node is the relaxation with its tables at their homes, and its bound is recomputed from
    the duals in exact arithmetic. The least bound of an open node counts. As many relaxations are
    solved at a time as the run has threads, with the same bound. Ours, not the paper's.

    Parameters
    ----------
    tables
        Tables that get a home in the tree.
    nodes
        Relaxations in the tree, about; the bound grows with their number.
    spreading
        As of `relaxation`; the nodes have the rows of the root.
    """
    if min(tables, nodes, spreading) < 0:
        raise OptionError("tables, nodes and spreading must be from 0")
    refinement = Refinement(instance, run)
    refinement.relax(spreading=spreading)
    if refinement.relaxed is None:
        return _relaxed(refinement)
    root = max(refinement.indivisible, refinement.dual or 0.0)
    tree = RelaxationTree(instance, refinement.relaxed, root, tables)
    value = tree.bound(run, nodes)
    return _claim(value, "duals of the relaxation at the nodes of a tree")


def _relaxed(refinement: Refinement) -> Claim:
    """Return the bound of a relaxation that was solved, or of whole tables and jobs."""
    value, how = refinement.indivisible, "whole tables and jobs"
    if refinement.dual is not None and refinement.dual > value:
        value, how = refinement.dual, "duals of the relaxation"
    missing = refinement.dual is None
    message = f"no certificate from the relaxation: {refinement.no_dual}" if missing else ""
    return _claim(value, how, message)


def _claim(value: Fraction | float, how: str, message: str = "") -> Claim:
    bound = Bound(below(value), "certified", how)
    return Claim(status=Status.NO_SOLUTION, bounds=[[bound]], solver_message=message)
