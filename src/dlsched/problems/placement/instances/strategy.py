"""Random small placement instances."""

from typing import Any

from hypothesis import strategies as st

from dlsched.problems.placement.definition.schema import Instance

VARIATIONS: tuple[dict[str, Any], ...] = ({}, {"scales": True})
"""Options of `instances` with which the problem's properties are tested."""


@st.composite
def instances(
    draw: st.DrawFn,
    max_tables: int = 4,
    max_regions: int = 3,
    max_jobs: int = 4,
    scales: bool = False,
) -> Instance:
    """Draw an instance in which every limit may be tight; it may be infeasible.

    Parameters
    ----------
    max_tables, max_regions, max_jobs
        Upper limits of the size; brute force tries regions ** tables placements.
    scales
        Whether bytes, hours and weights have units from 1e-9 to 1e9, some with many digits, a
        capacity or quota may be 1e15, which is no limit, and jobs may need several GPU types.
    """
    unit = st.sampled_from([1, 1e-9, 1e9, 1e-4 / 3, 1e4 / 7] if scales else [1])
    byte, hour, cpu, worth = (draw(unit) for _ in range(4))
    kinds = ["A", "B"][: draw(st.integers(1, 2))]
    small = st.integers(0, 6)
    unlimited = st.booleans() if scales else st.just(False)
    regions: list[dict[str, Any]] = []
    for r in range(draw(st.integers(1, max_regions))):
        capacity = 1e15 if draw(unlimited) else byte * draw(st.integers(4, 30))
        supply = {kind: hour * draw(small) for kind in kinds}
        quota = {}
        if draw(st.booleans()):
            quota["x"] = 1e15 if draw(unlimited) else cpu * draw(small)
        limits = {"storage_capacity": capacity, "gpu_supply": supply, "cpu_quota": quota}
        regions.append({"id": f"r{r}", **limits})
    homes = st.sampled_from([None, *(region["id"] for region in regions)])
    tables: list[dict[str, Any]] = []
    for t in range(draw(st.integers(1, max_tables))):
        size = byte * draw(st.integers(1, 9))
        tables.append({"id": f"t{t}", "size": size, "home": draw(homes)})
    some_tables = st.lists(st.sampled_from([t["id"] for t in tables]), min_size=1, unique=True)
    types = st.lists(st.sampled_from(kinds), min_size=1 - scales, max_size=1 + scales, unique=True)
    jobs: list[dict[str, Any]] = []
    urgent = 0
    for j in range(draw(st.integers(0, max_jobs))):
        job: dict[str, Any] = {
            "id": f"j{j}",
            "kind": draw(st.sampled_from(["ml", "spark", "presto"])),
        }
        needed = draw(types)
        job["tables"] = draw(some_tables)
        job["gpu_hours"] = {kind: hour * draw(small) for kind in needed}
        job["cpu_hours"] = 0 if job["kind"] == "ml" else cpu * draw(st.integers(0, 3))
        job["app"] = draw(st.sampled_from(["x", "y"]))
        job["priority"] = draw(st.integers(1, 2))
        job["time_sensitive"] = draw(st.booleans())
        urgent += sum(job["gpu_hours"].values()) if job["time_sensitive"] else 0
        jobs.append(job)
    version = draw(st.sampled_from(["v1", "v2"]))
    traffic = worth * draw(st.sampled_from([0, 1, 0.5]))
    gpu = worth * draw(st.sampled_from([0, 1, 3]))
    storage = worth * draw(st.sampled_from([0, 1]))
    return Instance(
        name="drawn",
        version=version,
        weights={"traffic": traffic, "gpu": gpu, "storage": storage},
        priority_weights={"2": draw(st.sampled_from([0, 0.5, 2]))},
        overload_slope=draw(st.sampled_from([1, 5])),
        at_home_threshold=draw(st.sampled_from([0, 0, urgent / 2, urgent])),
        move_quota=draw(st.sampled_from([None, None, 10 * byte])),
        regions=regions,
        tables=tables,
        jobs=jobs,
    )
