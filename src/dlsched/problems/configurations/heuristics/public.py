"""Sia's program as its public code states it: costs rounded to two decimals, and clipped."""

from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import NamedTuple

from dlsched.errors import OptionError
from dlsched.problems.configurations.definition.costs import UNIT, Costs, power_of, restart_factor
from dlsched.problems.configurations.definition.schema import Instance, Job, Solution
from dlsched.problems.configurations.programs.kinds import Kinds, solve
from dlsched.registry.own import method
from dlsched.results.result import Claim
from dlsched.run import Run
from dlsched.schema import Id, Number
from dlsched.solvers.levels import SOLVER_LIBRARIES


class Code(NamedTuple):
    """One of the two public programs.

    unusable: the goodput of what a job cannot use, in the simulator as normalised. largest: what
    costs are clipped at. change: what each changed entry of an allocation costs, in 1e-9.
    simulates: whether a restart counts on other types, too, but for no job younger than it takes.
    """

    unusable: Fraction
    largest: int
    change: int
    simulates: bool


CODES = {
    "scheduler": Code(Fraction("0.01"), 200, UNIT // 100, False),
    "simulator": Code(Fraction("0.0001"), 3000, 0, True),
}


class PublicCosts(Costs):
    """Costs in the public code's numbers, without what waiting costs a running job for moving."""

    def __init__(self, instance: Instance, code: Code) -> None:
        super().__init__(instance)
        self.code = code

    def of(self, job: Job) -> dict[Id, int]:
        """Return the cost of every configuration, also of those that the job cannot use."""
        code, by_id, model = self.code, self.instance.by_id, self.instance.model_of[job.model]
        values, costs = self.normalised(job.model), dict[Id, int]()
        least: Number = min((g for g in model.goodput.values() if g), default=1)
        unusable = code.unusable / (1 if code.simulates else least)
        young = code.simulates and job.age < model.restart_seconds
        restart = Fraction(1) if young else restart_factor(self.instance, job)
        for name, one in by_id.items():
            value = values.get(name, unusable)
            near = job.present is not None and one.type == by_id[job.present].type
            if name != job.present and (code.simulates or near):
                value *= restart
            cost = power_of(value, self.instance.power) if value else Decimal(code.largest)
            cents = min(cost, Decimal(code.largest)).quantize(Decimal("0.01"), ROUND_HALF_EVEN)
            keeps, new = name == job.present, job.present is None and not job.age
            changes = 0 if new else -1 if keeps else 1  # beyond those of waiting
            costs[name] = round(cents * UNIT) + code.change * changes
        return costs


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
        raise OptionError(f"code={code!r} must be one of {', '.join(CODES)}")
    claim = solve(Kinds(instance, PublicCosts(instance, CODES[code])), run, 1)
    if not isinstance(claim.solution, Solution):
        return replace(claim, bounds=())
    given, costs = claim.solution.configurations, Costs(instance)
    able = {job.id: costs.of(job) for job in instance.jobs if job.id in given}
    return Solution(configurations={j: c for j, c in given.items() if c in able[j]})
