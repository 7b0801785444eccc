"""Server preemption costs (Lyra, section 4): what a job adds to its base servers, by rule."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dlsched.problems.reclaiming.definition.schema import Instance
from dlsched.schema import Number


@dataclass(frozen=True)
class Shares:
    """What job ``j`` adds to the cost of server ``s``: ``weight[j] * part / whole[j]``.

    The part is ``parts[j][s]``, or 1 on all of the job's servers, ``hosts[j]``, without `parts`.
    """

    hosts: Sequence[frozenset[int]]
    whole: Sequence[int]
    weight: Sequence[Number]
    parts: Sequence[Mapping[int, int]] | None = None

    def scaled(self) -> tuple[list[int], int]:
        """Return each job's weight / whole, as whole multiples of 1 / the number returned."""
        unit = math.lcm(*{weight.denominator for weight in self.weight})
        whole = math.lcm(*{whole for whole in self.whole if whole})
        share = {own: whole // max(1, own) for own in set(self.whole)}
        weights = [
            weight.numerator if unit == 1 else weight.numerator * (unit // weight.denominator)
            for weight in self.weight
        ]
        each = [weight * share[own] for weight, own in zip(weights, self.whole, strict=True)]
        return each, unit * whole

    def costs(self, servers: int) -> list[Fraction]:
        """Return each server's cost before any server is returned, a column of Table 1.

        The loop of `lyra` sums and updates costs itself: `heuristics.lyra_loop`.
        """
        result = [Fraction(0)] * servers
        each, unit = self.scaled()
        for j, (hosts, add) in enumerate(zip(self.hosts, each, strict=True)):
            for s in hosts:
                result[s] += Fraction(add if self.parts is None else add * self.parts[j][s], unit)
        return result


def lyra_shares(instance: Instance) -> Shares:
    """Return 1 / (servers that host the job)."""
    base = instance.base_servers
    return Shares(base, [len(b) for b in base], instance.weights)


def gpu_shares(instance: Instance) -> Shares:
    """Return (GPUs of the job on the server) / (all its GPUs)."""
    held, base = instance.held, instance.base_servers
    parts = [{s: h[s] for s in b} for h, b in zip(held, base, strict=True)]
    return Shares(base, [sum(h.values()) for h in held], instance.weights, parts)


def count_shares(instance: Instance) -> Shares:
    """Return 1 for every job."""
    return Shares(instance.base_servers, [1] * len(instance.jobs), instance.weights)
