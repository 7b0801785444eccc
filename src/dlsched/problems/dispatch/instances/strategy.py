"""Random small instances of dispatch."""

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from operator import ge
from typing import Any

from hypothesis import strategies as st

from dlsched.problems.dispatch.definition.schema import Instance

AGES = (0, 7, 60, 300, Fraction("0.5"), Fraction("12.25"))
SECONDS = (600, 7200, 86400, 100000, 0, Fraction("7200.5"))
Pick = Callable[[Sequence[Any]], Any]

VARIATIONS: tuple[dict[str, Any], ...] = ({}, {"scope": "one"}, {"scope": "batch"})


@st.composite
def instances(
    draw: st.DrawFn,
    scope: str | None = None,
    max_pending: int = 3,
    max_running: int = 3,
    max_machines: int = 4,
    max_jobs: int = 2,
    ties: bool = False,
) -> Instance:
    """Draw an instance of one or two regions with up to three clusters.

    Most are made of a drawn seed, as many choices drawn one by one are seldom varied. Credits
    differ unless `ties`, so that the order of the file does not matter.

    Parameters
    ----------
    scope
        ``"one"`` or ``"batch"``; either by default.
    max_pending, max_running, max_machines, max_jobs
        Upper limits; the brute force is for at most about three workloads on four machines.
    ties
        Whether workloads may have equal credit.
    """
    seed = draw(st.none() | st.integers(0, 10**6) | st.integers(0, 10**6))
    rng = random.Random(seed)

    def pick(options: Sequence[Any]) -> Any:
        return draw(st.sampled_from(options)) if seed is None else rng.choice(options)

    return _instance(pick, scope, max_pending, max_running, max_machines, max_jobs, ties)


def _instance(
    pick: Pick, scope: str | None, waiting: int, running: int, machines: int, jobs: int, ties: bool
) -> Instance:
    types = pick([("A",), ("A",), ("A", "B")])
    unit = pick([1, 1, Fraction("0.1"), 1000])
    clusters = _clusters(pick, types, unit, machines)
    split = pick(range(1, len(clusters) + 1))
    regions = [{"id": "r0", "tables": ["t0", "t1"], "clusters": clusters[:split]}]
    if split < len(clusters):
        tables = pick([["t0", "t1"], ["t0"], []])
        regions.append({"id": "r1", "tables": tables, "clusters": clusters[split:]})
    lowest = pick([3, 2, 4, 3, 2, 1])
    tenants = [
        {
            "id": f"n{t}",
            "priority": min(lowest, pick([1, 2, 1, 3])),
            "gpu_quota": pick([8, 20, 4, 0]),
            "cpu_quota": pick([40, 16, 4]) * unit,
            "window_use": pick([0, 1, 3, Fraction("0.25")]),
        }
        for t in range(pick([2, 1, 3]))
    ]
    names = [row["id"] for row in tenants]
    pending = [
        {
            "id": f"w{w}",
            "tenant": pick(names),
            # Ages this far apart make credits differ: expression 11 adds 3 at most.
            "age": pick(AGES) + (0 if ties else 1000 * w),
            "tables": pick([[], [], ["t0"], ["t1"]]),
            "jobs": [_job(pick, j, types, unit) for j in range(pick([1, *range(1, jobs + 1)]))],
        }
        for w in range(pick([waiting, *range(waiting + 1)]))
    ]
    return Instance(
        name="drawn",
        scope=scope or pick(["one", "batch"]),
        lowest_priority=lowest,
        cpu_weight=pick([Fraction("0.01"), Fraction("0.5"), 1]),
        credit={"age_cap": pick([60, 3600]) if ties else 3600},
        regions=regions,
        tenants=tenants,
        running=_running(pick, regions, names, unit, running),
        pending=pending,
    )


def _clusters(
    pick: Pick, types: Sequence[str], unit: int | Fraction, most: int
) -> list[dict[str, Any]]:
    clusters, total = [], 0
    for c in range(pick([2, 1, 3])):
        groups: list[dict[str, Any]] = []
        for m in range(pick([1, 2])):
            count = min(pick([1, 2]), most - total)
            if count:
                total += count
                gpus = pick([4, 2, 3, 4, 0])
                group = {
                    "id": f"m{c}{m}",
                    "count": count,
                    "rack": pick([0, 1]),
                    "gpus": gpus,
                    "cpus": pick([8, 4]) * unit,
                    "memory": pick([8, 4]),
                }
                groups.append(group | ({"gpu_type": pick(types)} if gpus else {}))
        clusters.append({"id": f"c{c}", "machines": groups})
    return clusters


def _job(pick: Pick, j: int, types: Sequence[str], unit: int | Fraction) -> dict[str, Any]:
    gpus = pick([2, 1, 1, 3, 0])
    job = {
        "id": f"j{j}",
        "tasks": pick([1, 2] if j else [2, 1, 3]),
        "gpus": gpus,
        "cpus": pick([1, 1, 0, 3] if gpus else [1, 2]) * unit,
        "memory": pick([1, 1, 0, 3]),
    }
    return job | ({"gpu_type": pick(types)} if gpus else {})


def _running(
    pick: Pick,
    regions: Sequence[dict[str, Any]],
    tenants: Sequence[str],
    unit: int | Fraction,
    most: int,
) -> list[dict[str, Any]]:
    left = {
        (c["id"], f"{m['id']}#{k}"): [m["gpus"], m["cpus"], m["memory"]]
        for region in regions
        for c in region["clusters"]
        for m in c["machines"]
        for k in range(m["count"])
    }
    running: list[dict[str, Any]] = []
    for v in range(pick([most, *range(most + 1)])):
        clusters = [cluster["id"] for cluster in pick(regions)["clusters"]]
        jobs = [_running_job(pick, f"j{j}", clusters, left, unit) for j in range(pick([1, 1, 2]))]
        placed = [job for job in jobs if job["on"]]
        if placed:
            owner = {"tenant": pick(tenants), "within_quota": pick([False, False, True])}
            running.append({"id": f"v{v}", **owner, "seconds": pick(SECONDS), "jobs": placed})
    return running


def _running_job(
    pick: Pick,
    name: str,
    clusters: Sequence[str],
    left: dict[tuple[str, str], list[Any]],
    unit: int | Fraction,
) -> dict[str, Any]:
    """Draw a job with up to four tasks in one of the clusters, and take what is left there."""
    cluster = pick(clusters)
    need = [pick([2, 1, 2, 1, 0]), pick([1, 2]) * unit, 1]
    on: dict[str, int] = {}
    for machine, free in [(m, free) for (at, m), free in left.items() if at == cluster]:
        while all(map(ge, free, need)) and sum(on.values()) < 4 and pick([1, 1, 1, 0]):
            on[machine] = on.get(machine, 0) + 1
            free[:] = [have - much for have, much in zip(free, need, strict=True)]
    resources = dict(zip(("gpus", "cpus", "memory"), need, strict=True))
    return {"id": name, "cluster": cluster, **resources, "on": on}
