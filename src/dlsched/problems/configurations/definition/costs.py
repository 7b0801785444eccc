"""What a job costs with a configuration: a power of its normalised goodput, to nine decimals.

The cost of job i with configuration j is (r G_j / min G)^p for p < 0, and minus that for p > 0,
where r is 1 for the job's present configuration, and for a job that has none.
"""

from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from dlsched.problems.configurations.definition.schema import DIGITS, Instance, Job
from dlsched.schema import Id, Number, simplify

UNIT = 10**DIGITS
_DECIMAL = Context(prec=40, rounding=ROUND_HALF_EVEN)
"""Powers have 40 digits before they are rounded."""


def restart_factor(instance: Instance, job: Job) -> Fraction:
    """Return max(age - restarts x restart time, 0) / (age + restart time); 1 where both are 0.

    It is 1, too, for a job that has no configuration: nothing restarts **(D)**.
    """
    seconds = Fraction(instance.model_of[job.model].restart_seconds)
    if job.present is None or not job.age + seconds:
        return Fraction(1)
    return max(job.age - job.restarts * seconds, Fraction(0)) / (job.age + seconds)


class Costs:
    """The costs of an instance's jobs in units of 1e-9, each computed when it is asked for."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.waiting = int(instance.penalty * UNIT)
        self._powers: dict[Id, Mapping[Id, Decimal]] = {}

    def normalised(self, model: Id) -> dict[Id, Fraction]:
        """Return a model's goodput above 0, divided by the least."""
        goodput = {c: g for c, g in self.instance.model_of[model].goodput.items() if g}
        return {c: Fraction(g) / min(goodput.values()) for c, g in goodput.items()}

    def of(self, job: Job) -> dict[Id, int]:
        """Return the configurations that a job can have, with what it then costs.

        A factor of 0 leaves no goodput: for p < 0 the job keeps its configuration or waits **(D)**.
        """
        power = self.instance.power
        if job.model not in self._powers:
            values = self.normalised(job.model).items()
            self._powers[job.model] = {c: power_of(g, power) for c, g in values}
        powers, costs = self._powers[job.model], dict[Id, int]()
        sign = 1 if power < 0 else -1
        factor = restart_factor(self.instance, job)
        if factor or power > 0:
            scale = power_of(factor, power) if factor else Decimal(0)
            costs = {c: sign * _units(_DECIMAL.multiply(scale, v)) for c, v in powers.items()}
        if job.present is not None:
            costs[job.present] = sign * _units(powers[job.present])
        return costs


def power_of(base: Fraction, power: Number) -> Decimal:
    """Return a positive number's power, to 40 digits."""
    parts = (_DECIMAL.divide(Decimal(v.numerator), Decimal(v.denominator)) for v in (base, power))
    return _DECIMAL.power(*parts)


def _units(value: Decimal) -> int:
    return int(value.scaleb(DIGITS, _DECIMAL).to_integral_value(ROUND_HALF_EVEN))


def in_units(units: int) -> Number:
    """Return a cost that is given in units of 1e-9."""
    return simplify(Fraction(units, UNIT))
