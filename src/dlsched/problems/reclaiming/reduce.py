"""The model without jobs that no optimum preempts: each alone outweighs a known choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dlsched.problems.reclaiming import model
from dlsched.problems.reclaiming.check import evaluate
from dlsched.problems.reclaiming.schema import Instance, Solution
from dlsched.schema import Number, granularity


@dataclass(frozen=True)
class Reduced:
    """What `solve_levels` takes as a model: jobs above a limit stay, and so do their servers.

    A solver's tolerances are relative to the largest weight that it sees, so weights far above the
    optimum would hide the differences that matter.

    Attributes
    ----------
    limit
        Preempted weight of a feasible choice.
    """

    limit: Number

    @classmethod
    def by(cls, instance: Instance, solution: Solution) -> Reduced:
        """Return the model for what is no worse than a solution."""
        index = instance.server_index
        return cls(evaluate(instance, {index[s] for s in solution.returned})[0])

    def build(self, instance: Instance) -> Any:
        """Return the model; its sets are the instance's, as on the card."""
        import pyomo.environ as pyo

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

    def read(self, instance: Instance, m: Any) -> Solution:
        """Return the solution that the model's variables hold."""
        return model.read(instance, m)

    def assign(self, instance: Instance, m: Any, solution: Solution) -> None:
        """Set every variable to the value that the solution gives it."""
        model.assign(instance, m, solution)
