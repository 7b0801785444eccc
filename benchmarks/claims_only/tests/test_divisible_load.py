"""The linear program's duration is below that of every fork."""

from typing import Any

import numpy as np
from claims_only.divisible_load import divisible_load

import dlsched
from utility_instances import instance, job


def test_the_divisible_load_bounds_every_fork() -> None:
    """Five nodes as in Figure 6: `hadare`'s duration is no less than the linear program's."""
    rng = np.random.default_rng(6)

    def drawn() -> dict[str, Any]:
        iterations = int(rng.integers(50, 200))
        return job(iterations, {f"T{i}": round(float(rng.uniform(1, 5)), 1) for i in range(5)})

    nodes = {f"T{i}": {f"T{i}": 1} for i in range(5)}
    for count in (1, 3, 5, 8):
        made = instance([drawn() for _ in range(count)], nodes, 300, forking=True)
        result = dlsched.solve(made, "hadare")
        last = dlsched.verify(made, result.solution).details["last_slot"]
        assert divisible_load(made) - 1e-9 <= last <= divisible_load(made) * 1.6 + count
