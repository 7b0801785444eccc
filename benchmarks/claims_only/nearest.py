"""The optimum that has the most servers in common with a given solution."""

from dataclasses import dataclass
from typing import Any

from dlsched.errors import DlschedError, SolverDisagreement
from dlsched.problems.reclaiming import model
from dlsched.problems.reclaiming.definition.check import check
from dlsched.problems.reclaiming.definition.schema import Instance, Solution
from dlsched.registry import Kind, Method, call
from dlsched.results.result import Claim, Status, default_termination
from dlsched.run import Run
from dlsched.solvers.levels import solve_levels


def nearest_optimum(
    instance: Instance, solution: Solution, *, time_limit: float | None = None
) -> Solution:
    """Return the optimum of level 1 that shares the most servers with a solution.

    Optima are seldom unique, so the share of the optimum's servers that a heuristic returns (Lyra,
    section 7.3: 84 % on average) depends on the optimum it is compared with. This solves one more
    integer program: the number of shared servers is maximised with the preempted weight held at
    its minimum. Collateral damage is not part of it.

    Parameters
    ----------
    instance, solution
        The instance, and the solution to compare with.
    time_limit
        Wall-clock seconds, or ``None``.

    Raises
    ------
    DlschedError
        If the instance is infeasible, or the time limit ended the proof.
    """

    def solve(instance: Instance, run: Run) -> Claim:
        return solve_levels(instance, run, _Model(frozenset(solution.returned)))

    labelled = Method("nearest_optimum", "reclaiming", Kind.EXACT, solve)
    claim = call(labelled, instance, Run(time_limit), {})
    if claim.status is not Status.OPTIMAL:
        ended = claim.termination or default_termination(claim.status)
        raise DlschedError(f"the nearest optimum was not found: {claim.reason or ended.sentence}")
    found = claim.solution
    assert isinstance(found, Solution)
    report = check(instance, found)
    if not report:
        raise SolverDisagreement(
            f"the nearest optimum is infeasible: {report.violations[0].message}"
        )
    return found


@dataclass(frozen=True)
class _Model:
    """The model with the number of shared servers as level 2."""

    near: frozenset[str]
    read = staticmethod(model.read)
    assign = staticmethod(model.assign_preemptions)

    def build(self, instance: Instance) -> Any:
        import pyomo.core as pyo

        m = model.build(instance)
        for name in ("collateral", "vacate", "z", "DAMAGE"):
            m.del_component(name)
        m.shared = pyo.Objective(
            expr=pyo.quicksum(m.x[s] for s in m.SERVERS if s in self.near), sense=pyo.maximize
        )
        m.GRANULARITY = {"preempted": m.GRANULARITY["preempted"], "shared": 1}
        return m
