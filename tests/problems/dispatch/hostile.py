"""Small instances of dispatch with numbers of many digits, far units and sums that nearly fit."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from dlsched.problems.dispatch import Instance
from dlsched.schema import Number

MOST = 9.9e14


def exact(value: float) -> Number:
    """Return the decimal that a file would have for a double."""
    number = Fraction(repr(min(value, MOST)))
    return int(number) if number.denominator == 1 else number


class Quantities:
    """Needs in one unit, and capacities near their sums."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.scale = 10.0 ** draw.choice([0, 0, 0, draw.randint(-9, 14)])
        digits = draw.choice([0, 3, 9, 12, 15, None])
        self.needs = [self.need(digits) for _ in range(draw.choice([2, 3, 6]))]

    def need(self, digits: int | None) -> Number:
        """Return an amount with so many decimals, or a whole one that is disturbed."""
        value = round(self.draw.uniform(0.6, 4), digits) if digits is not None else 0.0
        if digits is None:
            disturbance = self.draw.choice([0, 1, -1]) * 10.0 ** -self.draw.randint(6, 16)
            value = self.draw.randint(1, 4) * (1 + disturbance)
        return exact((value or 1.0) * self.scale)

    def capacity(self) -> Number:
        """Return about the sum of some needs, or much more."""
        if self.draw.random() < 0.2:
            return self.draw.choice([10**15, 10**12, 10**9])
        total = float(sum(self.draw.choice(self.needs) for _ in range(self.draw.randint(1, 3))))
        return exact(total * (1 + self.draw.choice([0, 0, 1e-9, -1e-12, 1e-15])))


def hostile(seed: int, scope: str | None = None) -> Instance:
    """Draw an instance that brute force solves at once."""
    draw = random.Random(seed)
    cpus, memory, seconds, weight = (Quantities(draw) for _ in range(4))
    machines = [
        {"id": f"m{m}", "count": draw.choice([1, 1, 2]), "rack": draw.choice([0, 1]),
         "cpus": cpus.capacity(), "memory": memory.capacity()}
        for m in range(draw.choice([1, 2]))
    ]  # fmt: skip
    lowest = draw.choice([1, 2, 3])
    running: list[dict[str, Any]] = []
    for m, group in enumerate(machines):
        need = {"cpus": draw.choice(cpus.needs), "memory": draw.choice([0, *memory.needs])}
        if draw.random() < 0.4 and all(group[name] >= need[name] for name in need):
            job = {"id": "j", "cluster": "c", **need, "on": {f"m{m}#0": 1}}
            running.append(
                {"id": f"v{m}", "tenant": "t0", "within_quota": draw.random() < 0.3,
                 "seconds": draw.choice([0, 86400, *seconds.needs]), "jobs": [job]}
            )  # fmt: skip
    pending = [
        {
            "id": f"w{w}",
            "tenant": draw.choice(["t0", "t1"]),
            "age": 1000 * w,
            "jobs": [
                {"id": f"j{j}", "tasks": draw.choice([1, 1, 2]), "cpus": draw.choice(cpus.needs),
                 "memory": draw.choice([0, *memory.needs])}
                for j in range(draw.choice([1, 1, 2]))
            ],
        }
        for w in range(draw.choice([1, 2, 2]))
    ]  # fmt: skip
    return Instance(
        name=f"hostile-{seed}",
        scope=scope or draw.choice(["one", "batch", "batch"]),
        lowest_priority=lowest,
        cpu_weight=draw.choice([1, *weight.needs]),
        regions=[{"id": "r", "clusters": [{"id": "c", "machines": machines}]}],
        tenants=[
            {
                "id": f"t{t}",
                "priority": draw.randint(1, lowest),
                "gpu_quota": 9,
                "cpu_quota": 10**15,
            }
            for t in range(2)
        ],
        running=running,
        pending=pending,
    )
