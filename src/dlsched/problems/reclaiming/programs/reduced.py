"""A smaller model: without losses that jobs and servers tell, and without too heavy jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dlsched.problems.reclaiming import model
from dlsched.problems.reclaiming.definition.check import evaluate
from dlsched.problems.reclaiming.definition.schema import Instance, Solution
from dlsched.schema import Number, granularity


@dataclass(frozen=True)
class Reduced:
    """The model, as `solve_levels` takes it, with fewer variables.

    A server with a base worker of a job is returned only if the job is preempted, so z = y - x
    there: in level 2 these z are replaced. If a solution is known, jobs heavier than `limit` and
    their base servers are fixed at 0. A solver's tolerances are relative to the largest weight that
    it is given, so weights far above the optimum would hide the differences that matter.

    Attributes
    ----------
    limit
        Preempted weight of a feasible solution, if one is known.
    """

    limit: Number | None = None
    read = staticmethod(model.read)
    assign = staticmethod(model.assign)

    @classmethod
    def by(cls, instance: Instance, solution: Solution) -> Reduced:
        """Return the model of all solutions that are no worse than a given one."""
        index = instance.server_index
        return cls(evaluate(instance, {index[s] for s in solution.returned})[0])

    def build(self, instance: Instance) -> Any:
        """Return the Pyomo model; its sets are the instance's, as on the card."""
        m = model.build(instance)
        _replace_losses(m, instance)
        if self.limit is not None:
            _fix_heavy(m, instance, self.limit)
        return m


def _replace_losses(m: Any, instance: Instance) -> None:
    """Write z as y - x on the servers of a job's base, where no row then needs it."""
    import pyomo.core as pyo

    servers = [server.id for server in instance.servers]
    losses = []
    for job, held in zip(instance.jobs, instance.held, strict=True):
        for s, gpus in ((servers[i], gpus) for i, gpus in held.items()):
            if (job.id, s) not in m.DAMAGE:
                continue
            if (job.id, s) in m.BASE:
                m.vacate[job.id, s].deactivate()
                m.z[job.id, s].fix(0)
                losses.append(gpus * (m.y[job.id] - m.x[s]))
            else:
                losses.append(gpus * m.z[job.id, s])
    m.collateral.set_value(pyo.quicksum(losses))


def _fix_heavy(m: Any, instance: Instance, limit: Number) -> None:
    """Fix jobs heavier than a limit as running, and their base servers as kept."""
    import pyomo.core as pyo

    light = []
    for job, base in zip(instance.jobs, instance.base_servers, strict=True):
        if base and job.weight > limit:
            m.y[job.id].setub(0)
            for s in base:
                m.x[instance.servers[s].id].setub(0)
        elif base and job.weight:
            light.append(job)
    m.preempted.set_value(pyo.quicksum(float(job.weight) * m.y[job.id] for job in light))
    m.GRANULARITY = m.GRANULARITY | {"preempted": granularity(job.weight for job in light)}
