"""Peers for one problem: networkx on the dense graph, SCIP on placement's squares as they are."""

from importlib.metadata import version
from itertools import combinations

import networkx as nx
import pyomo.environ as pyo
from benchmarks.peers.levels import stopped

from dlsched import Claim, Status
from dlsched.errors import OptionError
from dlsched.problems.interleaving.structures.groups import (
    pair_efficiencies,
    solution_of,
    stage_array,
)
from dlsched.problems.placement import model as placement
from dlsched.results.objective import Bound
from dlsched.run import Run
from dlsched.schema import Instance


def networkx_matching(instance: Instance) -> Claim:
    """Edmonds' algorithm of networkx on the dense graph of all pairs (Muri, section 4.1)."""
    if len(instance.resources) != 2:
        raise OptionError("this peer takes pairs only: two resources")
    stages = stage_array(instance)
    groups: list[tuple[int, ...]] = []
    for jobs in instance.classes.values():
        weights = pair_efficiencies(stages[list(jobs)])
        graph = nx.Graph()
        for i, j in combinations(range(len(jobs)), 2):
            graph.add_edge(i, j, weight=float(weights[i, j]))
        matched = nx.max_weight_matching(graph, maxcardinality=True)
        groups += [(jobs[i], jobs[j]) for i, j in matched]
    return Claim(solution=solution_of(instance, groups))


def scip_squares(instance: Instance, run: Run) -> Claim:
    """Placement's first version as the paper states it, squares and all, by SCIP.

    The squares are added to the model, which keeps its tangents.
    """
    if instance.version != "v1":
        raise OptionError("the second version has a sigmoid; this peer takes the first only")
    m = placement.build(instance)
    m.true_square = pyo.Constraint(
        m.SHARES, rule=lambda m, *at: m.square[at] >= placement.THOUSAND * m.difference[at] ** 2
    )
    m.true_uneven = pyo.Constraint(
        list(m.bytes_difference),
        rule=lambda m, r: m.uneven[r] >= placement.THOUSAND * m.bytes_difference[r] ** 2,
    )
    options = {"limits/gap": run.gap, "randomization/randomseedshift": run.seed}
    if run.remaining() < float("inf"):
        options["limits/time"] = max(run.remaining(), 0.01)
    answer = pyo.SolverFactory("scip_direct").solve(m, options=options, load_solutions=False)
    condition = str(answer.solver.termination_condition)
    run.record_solver("scip", version("pyscipopt"))
    ended = None if condition == "optimal" else stopped(run)
    low = answer.problem.lower_bound
    bounds = [[Bound(float(low), "claimed", "scip")]] if low is not None else [[]]
    if not len(answer.solution):
        return Claim(status=Status.NO_SOLUTION, termination=ended, bounds=bounds)
    m.solutions.load_from(answer)
    return Claim(
        solution=placement.read(instance, m),
        status=Status.OPTIMAL if condition == "optimal" else Status.FEASIBLE,
        termination=ended,
        bounds=bounds,
        solver_message=condition,
    )
