"""A smaller model: jobs heavier than a known solution's preempted weight are fixed as running."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dlsched.problems.reclaiming import model
from dlsched.problems.reclaiming.definition.check import evaluate
from dlsched.problems.reclaiming.definition.schema import Instance, Solution
from dlsched.schema import Number, granularity


@dataclass(frozen=True)
class Reduced:
    """The model, as `solve_levels` takes it, without jobs that no optimum preempts.

    Jobs heavier than `limit` and their base servers are fixed at 0. A solver's tolerances are
    relative to the largest weight that it is given, so weights far above the optimum would hide
    the differences that matter.

    Attributes
    ----------
    limit
        Preempted weight of a feasible solution.
    """

    limit: Number
    read = staticmethod(model.read)
    assign = staticmethod(model.assign)

    @classmethod
    def by(cls, instance: Instance, solution: Solution) -> Reduced:
        """Return the model of all solutions that are no worse than a given one."""
        index = instance.server_index
        return cls(evaluate(instance, {index[s] for s in solution.returned})[0])

    def build(self, instance: Instance) -> Any:
        """Return the Pyomo model; its sets are the instance's, as on the card."""
        import pyomo.core as pyo

        m = model.build(instance)
        light = []
        for job, base in zip(instance.jobs, instance.base_servers, strict=True):
            if base and job.weight > self.limit:
                m.y[job.id].setub(0)
                for s in base:
                    m.x[instance.servers[s].id].setub(0)
            elif base and job.weight:
                light.append(job)
        m.preempted.set_value(pyo.quicksum(float(job.weight) * m.y[job.id] for job in light))
        m.GRANULARITY = m.GRANULARITY | {"preempted": granularity(job.weight for job in light)}
        return m
