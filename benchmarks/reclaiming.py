"""Reclaiming: how near Lyra's choice of servers is to an optimum."""

from collections.abc import Iterator, Sequence

from claims_only.nearest import nearest_optimum
from runs import Row, compare

import dlsched


def demands(seeds: Sequence[int], demands: Sequence[int], **options: object) -> Iterator[Row]:
    """Yield runs, and the share of an optimum's servers that `lyra` returns, in per cent."""
    grid = {"servers": [520], "demand": demands}
    yield from compare("reclaiming", grid=grid, seeds=seeds, **options)  # type: ignore[arg-type]
    for demand in demands:
        for seed in seeds:
            instance = dlsched.generate("reclaiming", seed, servers=520, demand=demand)
            answer = dlsched.solve(instance, "lyra", seed=seed).solution
            mine, exact = set(answer.returned), dlsched.solve(instance).solution
            row: Row = {"table": "choice", "demand": demand, "seed": seed}
            row["one optimum"] = 100 * len(mine & set(exact.returned)) / demand
            near = nearest_optimum(instance, answer)
            yield row | {"the nearest optimum": 100 * len(mine & set(near.returned)) / demand}
