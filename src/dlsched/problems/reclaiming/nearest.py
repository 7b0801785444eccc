"""The optimum that has the most servers in common with a given choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dlsched.errors import DlschedError, SolverDisagreement
from dlsched.problems.reclaiming.check import check
from dlsched.problems.reclaiming.schema import Instance, Solution
from dlsched.result import Status
from dlsched.run import Run


def nearest_optimum(
    instance: Instance, solution: Solution, *, time_limit: float | None = None
) -> Solution:
    """Return the optimum of level 1 that shares the most servers with a solution.

    Optima are seldom unique, so the share of the optimum's servers that a rule returns (Lyra,
    section 7.3: 84 % on average) depends on which optimum it is compared with. This is one more
    integer program: with the preempted weight held at its minimum, the shared servers are
    maximised. Collateral damage plays no part.

    Parameters
    ----------
    instance, solution
        The instance, and the choice of servers to be close to.
    time_limit
        Wall-clock seconds, or ``None``.

    Raises
    ------
    DlschedError
        If the limit struck before the answer was proved, or the instance is infeasible.
    """
    from dlsched.solvers.levels import solve_levels

    claim = solve_levels(instance, Run(time_limit), _Model(frozenset(solution.returned)))
    if claim.status is not Status.OPTIMAL:
        raise DlschedError(
            f"the nearest optimum was not found: {claim.reason or claim.termination}"
        )
    found = claim.solution
    assert isinstance(found, Solution)
    report = check(instance, found)
    if not report:
        raise SolverDisagreement(f"the nearest optimum is none: {report.violations[0].message}")
    return found


@dataclass(frozen=True)
class _Model:
    """The model of the problem with another second level."""

    near: frozenset[str]

    def build(self, instance: Instance) -> Any:
        import pyomo.environ as pyo

        from dlsched.problems.reclaiming import model

        m = model.build(instance)
        for name in ("collateral", "vacate", "z", "DAMAGE"):
            m.del_component(name)
        m.shared = pyo.Objective(
            expr=pyo.quicksum(m.x[s] for s in m.SERVERS if s in self.near), sense=pyo.maximize
        )
        m.GRANULARITY = {"preempted": m.GRANULARITY["preempted"], "shared": 1}
        return m

    def read(self, instance: Instance, m: Any) -> Solution:
        from dlsched.problems.reclaiming import model

        return model.read(instance, m).model_copy(update={"method": "nearest_optimum"})

    def assign(self, instance: Instance, m: Any, solution: Solution) -> None:
        from dlsched.problems.reclaiming import model

        model.assign_preemptions(instance, m, solution)
