"""Sia's program as its public code states it: costs rounded to two decimals, and clipped."""

from __future__ import annotations

from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import NamedTuple

from dlsched.errors import OptionError
from dlsched.problems.configurations.definition.costs import UNIT, Costs, power_of, restart_factor
from dlsched.problems.configurations.definition.schema import Instance, Job, Solution
from dlsched.problems.configurations.exact import solve
from dlsched.problems.configurations.programs.kinds import Kinds
from dlsched.registry.own import method
from dlsched.results.result import Claim
from dlsched.run import Run
from dlsched.schema import Id
from dlsched.solvers.levels import SOLVER_LIBRARIES


class Code(NamedTuple):
    """What one of the two public programs does.

    unusable: the goodput of what a job cannot use; normalised: whether it is given so, or divided.
    largest: what costs are clipped at. change: what each changed entry of an allocation costs.
    everywhere: whether a restart counts on other types, too; young: whether one younger than its
    restart takes has none.
    """

    unusable: Fraction
    normalised: bool
    largest: int
    change: int
    everywhere: bool
    young: bool


CODES = {
    "scheduler": Code(Fraction("0.01"), False, 200, UNIT // 100, False, False),
    "simulator": Code(Fraction("0.0001"), True, 3000, 0, True, True),
}


class PublicCosts(Costs):
    """Costs in the public code's numbers, without what waiting costs a running job for moving."""

    def __init__(self, instance: Instance, code: Code) -> None:
        super().__init__(instance)
        self.code = code

    def of(self, job: Job) -> dict[Id, int]:
        """Return the cost of every configuration, also of those that the job cannot use."""
        goodput, code = self.instance.model_of[job.model].goodput, self.code
        least = self.instance.least.get(job.model, 1)
        restart = restart_factor(self.instance, job)
        if code.young and job.age < self.instance.model_of[job.model].restart_seconds:
            restart = Fraction(1)
        by_id = self.instance.by_id
        home = None if job.present is None else by_id[job.present].type
        costs = {}
        for name, one in by_id.items():
            value = Fraction(goodput.get(name) or code.unusable)
            if goodput.get(name) or not code.normalised:
                value /= least
            if name != job.present and (code.everywhere or one.type == home):
                value *= restart
            costs[name] = self._rounded(value) + self._change(job, name)
        return costs

    def _rounded(self, value: Fraction) -> int:
        if not value:
            return self.code.largest * UNIT
        cents = power_of(value, self.instance.power).quantize(Decimal("0.01"), ROUND_HALF_EVEN)
        return round(min(cents, Decimal(self.code.largest)) * UNIT)

    def _change(self, job: Job, name: Id) -> int:
        """Return what a choice costs more than waiting does, by changed entries."""
        if job.present is None:
            return self.code.change * (job.age > 0)
        return self.code.change * (-1 if name == job.present else 1)

    def alike(self, job: Job) -> tuple[object, ...]:
        """Return a key that jobs share only if they have the same costs."""
        return (*super().alike(job), job.age > 0)


@method("configurations", kind="heuristic", preload=SOLVER_LIBRARIES)
def sia_public(instance: Instance, run: Run, code: str = "scheduler") -> Claim | Solution:
    """Optimum of the public code's program, whose costs are rounded to two decimals and clipped.

    What a job cannot use has a goodput of .01 there, and may be chosen; here such a job waits.

    Parameters
    ----------
    code
        "scheduler", where a move to another type has no factor and a change costs .01; or
        "simulator", where each move has the factor.
    """
    if instance.power > 0:
        raise OptionError("sia_public is for a power below 0; use sia")
    if code not in CODES:
        raise OptionError(f"code={code!r}: there are {' and '.join(CODES)}")
    claim = solve(Kinds(instance, PublicCosts(instance, CODES[code])), run, 1)
    if not isinstance(claim.solution, Solution):
        return replace(claim, bounds=())
    jobs, costs = {job.id: job for job in instance.jobs}, Costs(instance)
    given = claim.solution.configurations.items()
    return Solution(configurations={j: c for j, c in given if c in costs.of(jobs[j])})
