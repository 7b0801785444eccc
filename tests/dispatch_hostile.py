"""Small instances of dispatch with numbers of many digits, far units and sums that nearly fit."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from dispatch_instances import held, job, running, tenant, waiting
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
    runs = []
    for m, group in enumerate(machines):
        need = {"cpus": draw.choice(cpus.needs), "memory": draw.choice([0, *memory.needs])}
        if draw.random() < 0.4 and all(group[name] >= need[name] for name in need):
            within = draw.random() < 0.3
            age = draw.choice([0, 86400, *seconds.needs])
            tasks = held({f"m{m}#0": 1}, **need)
            runs.append(running(f"v{m}", tasks, tenant="t0", seconds=age, within_quota=within))

    def any_job(name: str) -> dict[str, Any]:
        tasks, much = draw.choice([1, 1, 2]), draw.choice(cpus.needs)
        return job(name, tasks=tasks, cpus=much, memory=draw.choice([0, *memory.needs]))

    pending = []
    for w in range(draw.choice([1, 2, 2])):
        owner = draw.choice(["t0", "t1"])
        jobs = [any_job(f"j{j}") for j in range(draw.choice([1, 1, 2]))]
        pending.append(waiting(f"w{w}", *jobs, tenant=owner, age=1000 * w))
    return Instance(
        name=f"hostile-{seed}",
        scope=scope or draw.choice(["one", "batch", "batch"]),
        lowest_priority=lowest,
        cpu_weight=draw.choice([1, *weight.needs]),
        regions=[{"id": "r", "clusters": [{"id": "c", "machines": machines}]}],
        tenants=[tenant(f"t{t}", draw.randint(1, lowest), 9, 10**15) for t in range(2)],
        running=runs,
        pending=pending,
    )
