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
        regions.append(
            {
                "id": f"r{r}",
                "storage_capacity": 1e15 if draw(unlimited) else byte * draw(st.integers(4, 30)),
                "gpu_supply": {kind: hour * draw(small) for kind in kinds},
                "cpu_quota": {"x": 1e15 if draw(unlimited) else cpu * draw(small)}
                if draw(st.booleans())
                else {},
            }
        )
    homes = st.sampled_from([None, *(region["id"] for region in regions)])
    tables: list[dict[str, Any]] = [
        {"id": f"t{t}", "size": byte * draw(st.integers(1, 9)), "home": draw(homes)}
        for t in range(draw(st.integers(1, max_tables)))
    ]
    names = [table["id"] for table in tables]
    jobs: list[dict[str, Any]] = []
    for j in range(draw(st.integers(0, max_jobs))):
        kind = draw(st.sampled_from(["ml", "spark", "presto"]))
        types = draw(
            st.lists(st.sampled_from(kinds), min_size=1 - scales, max_size=1 + scales, unique=True)
        )
        jobs.append(
            {
                "id": f"j{j}",
                "kind": kind,
                "tables": draw(st.lists(st.sampled_from(names), min_size=1, unique=True)),
                "gpu_hours": {k: hour * draw(small) for k in types},
                "cpu_hours": 0 if kind == "ml" else cpu * draw(st.integers(0, 3)),
                "app": draw(st.sampled_from(["x", "y"])),
                "priority": draw(st.integers(1, 2)),
                "time_sensitive": draw(st.booleans()),
            }
        )
    urgent = sum(h for j in jobs if j["time_sensitive"] for h in j["gpu_hours"].values())
    return Instance(
        name="drawn",
        version=draw(st.sampled_from(["v1", "v2"])),
        weights={
            "traffic": worth * draw(st.sampled_from([0, 1, 0.5])),
            "gpu": worth * draw(st.sampled_from([0, 1, 3])),
            "storage": worth * draw(st.sampled_from([0, 1])),
        },
        priority_weights={"2": draw(st.sampled_from([0, 0.5, 2]))},
        overload_slope=draw(st.sampled_from([1, 5])),
        at_home_threshold=draw(st.sampled_from([0, 0, urgent / 2, urgent])),
        move_quota=draw(st.sampled_from([None, None, 10 * byte])),
        regions=regions,
        tables=tables,
        jobs=jobs,
    )
