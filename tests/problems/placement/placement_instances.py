"""Small instances of placement, also with numbers that are hard for doubles, and all placements."""

import random
from collections.abc import Sequence
from itertools import product
from typing import Any

from dlsched.problems.placement import PROBLEM, Instance, Solution
from dlsched.schema import Number

Row = dict[str, Any]


def region(name: str, storage: Any = 100, gpus: Any = None, **more: Any) -> Row:
    """Return a region; a number is its supply of type A."""
    supply = gpus if isinstance(gpus, dict) else {"A": gpus} if gpus is not None else {}
    return {"id": name, "storage_capacity": storage, "gpu_supply": supply} | more


def table(name: str, size: Any = 1, home: str | None = None) -> Row:
    """Return a table."""
    return {"id": name, "size": size, "home": home}


def job(name: str, tables: Sequence[str], gpus: Any = None, kind: str = "ml", **more: Any) -> Row:
    """Return a job of tables with short names; a number is its GPU hours of type A."""
    hours = gpus if isinstance(gpus, dict) else {"A": gpus} if gpus is not None else {}
    return {"id": name, "kind": kind, "tables": list(tables), "gpu_hours": hours} | more


def instance(
    regions: Sequence[Row], tables: Sequence[Row], jobs: Sequence[Row] = (), **fields: Any
) -> Instance:
    """Return an instance."""
    parts = {"regions": regions, "tables": tables, "jobs": jobs}
    return Instance(**{"name": "hand"} | parts | fields)


def home_of(made: Instance, homes: Sequence[int]) -> dict[str, str]:
    """Return the region's name of each table, from the positions of the regions."""
    names = [made.regions[home].id for home in homes]
    return dict(zip([t.id for t in made.tables], names, strict=True))


UNITS = (1, 1e-9, 1e15, 1e9, 1e-4, 1e12, 1e-6, 0.1, 1 / 3, 1e14 / 7, 1e-5 / 3)
DECIMALS = (0.1, 0.2, 0.3, 0.15, 0.45, 0.35, 0.565, 0.103, 0.462, 1 / 3)


def hostile(seed: int) -> Instance:
    """Draw an instance whose fields have units of their own, with up to 17 digits.

    Numbers are small multiples of the unit, decimals, or off by a few units in the last place.
    Capacities are 1e15 for "no limit", or exactly what some of the tables need.
    """
    rng = random.Random(seed)

    def number(unit: float, least: int = 0) -> float:
        kinds = (rng.randint(least, 9), rng.uniform(0.01, 1), rng.choice(DECIMALS),
                 rng.randint(1, 9) + rng.choice((1e-15, -1e-15, 1e-7)))  # fmt: skip
        return min(float(unit * rng.choice(kinds)), 1e15)

    byte, hour, supply, cpu, worth = (rng.choice(UNITS) for _ in range(5))
    kinds, places = ["A", "B"][: rng.randint(1, 2)], [f"r{r}" for r in range(rng.randint(1, 3))]
    sizes = [number(byte, 1) for _ in range(rng.randint(1, 4))]
    regions = [
        region(
            name,
            min(rng.choice((1e15, 1e15, sum(sizes), number(byte), sum(sizes[::2]))), 1e15),
            {kind: number(rng.choice((hour, supply))) for kind in kinds},
            cpu_quota=rng.choice(({}, {"x": number(cpu)}, {"x": 1e15})),
        )
        for name in places
    ]
    names = [f"t{t}" for t in range(len(sizes))]
    tables = [table(t, s, rng.choice((None, *places))) for t, s in zip(names, sizes, strict=True)]
    jobs = [
        job(
            f"j{j}",
            kind=rng.choice(("ml", "ml", "spark")),
            tables=rng.sample(names, rng.randint(1, len(sizes))),
            gpus={kind: number(hour) for kind in kinds if rng.random() < 0.7},
            cpu_hours=rng.choice((0, number(cpu))),
            app="x",
            priority=rng.randint(1, 3),
            time_sensitive=rng.random() < 0.4,
        )
        for j in range(rng.randint(0, 4))
    ]
    urgent = [h for row in jobs if row["time_sensitive"] for h in row["gpu_hours"].values()]
    return Instance(
        name=f"hostile-{seed}",
        version=rng.choice(("v1", "v2", "v2")),
        weights={part: rng.choice((0, 1, number(worth))) for part in ("traffic", "gpu", "storage")},
        priority_weights={"2": rng.choice((0, 0.5, number(rng.choice(UNITS))))},
        overload_slope=rng.choice((1, 5, number(rng.choice(UNITS), 1))),
        at_home_threshold=rng.choice((0, 0, min(urgent, default=0), min(sum(urgent), 1e15))),
        move_quota=rng.choice((None, None, sizes[0], number(byte), 1e15)),
        regions=regions,
        tables=tables,
        jobs=jobs,
    )


def feasible(instance: Instance) -> list[tuple[Solution, Number]]:
    """Return all feasible placements with their costs, by the definition; the cheapest first."""
    found = []
    names = [row.id for row in instance.tables]
    for homes in product([row.id for row in instance.regions], repeat=len(names)):
        solution = Solution(home=dict(zip(names, homes, strict=True)))
        report = PROBLEM.check(instance, solution)
        if report.feasible and report.objective is not None:
            found.append((solution, report.objective.cost))
    return sorted(found, key=lambda pair: pair[1])
