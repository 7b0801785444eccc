"""Shares without a program: each job has an equal part of the cluster."""

from fractions import Fraction

from dlsched.problems.shares.definition.schema import Instance, Solution
from dlsched.problems.shares.structures.kinds import Where, kinds_of
from dlsched.problems.shares.structures.times import solution_of
from dlsched.registry.own import method


@method("shares", kind="baseline")
def isolated(instance: Instance) -> Solution:
    """Each job has the same part of the GPUs of each type; see `check.isolated`."""
    total = sum(instance.gpus.values())
    alone: dict[Where, Fraction] = {}
    for kind in kinds_of(instance).values():
        part = min(Fraction(1), Fraction(total, len(instance.jobs) * kind.gpus))
        for k in kind.rates:
            alone[kind.name, k] = kind.count * part * Fraction(instance.gpus[k], total)
    return solution_of(instance, alone)
