"""What a job costs with a configuration: a power of its normalised goodput, to nine decimals.

The cost of job i with configuration j is (r G_j / min G)^p for p < 0, and minus that for p > 0,
where r is 1 for the job's present configuration, and for a job that has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from dlsched.problems.configurations.definition.schema import DIGITS, Instance, Job
from dlsched.schema import Id, Number, simplify

UNIT = 10**DIGITS
"""Costs are whole multiples of one divided by this."""
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

    def of(self, job: Job) -> dict[Id, int]:
        """Return the configurations that a job can have, with what it then costs.

        A factor of 0 leaves no goodput: for p < 0 the job keeps its configuration or waits **(D)**.
        """
        if job.model not in self._powers:
            self._powers[job.model] = self._of_model(job.model)
        powers, power = self._powers[job.model], self.instance.power
        sign = 1 if power < 0 else -1
        costs = {}
        factor = restart_factor(self.instance, job)
        if factor:
            scale = power_of(factor, power) * UNIT
            costs = {name: sign * _round(_DECIMAL.multiply(scale, v)) for name, v in powers.items()}
        elif power > 0:
            costs = dict.fromkeys(powers, 0)
        if job.present is not None:
            costs[job.present] = sign * _round(_DECIMAL.multiply(powers[job.present], UNIT))
        return costs

    def alike(self, job: Job) -> tuple[object, ...]:
        """Return a key that jobs share only if they have the same costs, and run as they do."""
        return (job.model, job.present, *((job.age, job.restarts) if job.present else ()))

    def _of_model(self, name: Id) -> Mapping[Id, Decimal]:
        goodput, power = self.instance.model_of[name].goodput, self.instance.power
        least = self.instance.least.get(name, 1)
        return {c: power_of(Fraction(g) / least, power) for c, g in goodput.items() if g}


def power_of(base: Fraction, power: Number) -> Decimal:
    """Return a positive number's power, to 40 digits."""
    number, exponent = (
        _DECIMAL.divide(Decimal(value.numerator), Decimal(value.denominator))
        for value in (base, power)
    )
    return _DECIMAL.power(number, exponent)


def _round(value: Decimal) -> int:
    return int(value.to_integral_value(ROUND_HALF_EVEN))


def in_units(units: int) -> Number:
    """Return a cost that is given in units of 1e-9."""
    return simplify(Fraction(units, UNIT))
