"""Hypothesis strategy for small workers instances."""

from typing import Any

from hypothesis import strategies as st

from dlsched.problems.workers.definition.schema import Instance

VARIATIONS: tuple[dict[str, Any], ...] = ({}, {"separate_groups": False})
"""With separate groups, and without them, as some methods need."""


@st.composite
def instances(
    draw: st.DrawFn, max_servers: int = 4, max_jobs: int = 4, separate_groups: bool = True
) -> Instance:
    """Draw an instance with servers of up to 6 GPUs, of which at most 6 workers fit each.

    Parameters
    ----------
    max_servers, max_jobs
        Upper limits of the size; the brute force is for at most about 4 of each.
    separate_groups
        As the field.
    """
    servers: list[dict[str, Any]] = []
    for s in range(draw(st.integers(0, max_servers))):
        pool = draw(st.sampled_from(["training", "loan"]))
        gpus = draw(st.sampled_from([4, 2, 3, 6, 1]))
        free = draw(st.sampled_from([gpus, *range(gpus)]))
        server = {"id": f"s{s}", "pool": pool, "gpus": gpus, "free": free}
        if pool == "loan" and free < gpus:
            server["group"] = draw(st.sampled_from([None, "base", "flexible"]))
        servers.append(server)
    jobs: list[dict[str, Any]] = []
    for j in range(draw(st.integers(0, max_jobs))):
        elastic = draw(st.booleans())
        jobs.append(
            {
                "id": f"j{j}",
                "gpus_per_worker": draw(st.sampled_from([1, 2, 3, 4])),
                "base": draw(st.integers(1, 2)),
                "flexible": draw(st.integers(0, 2)) if elastic else 0,
                "elastic": elastic,
                "fungible": draw(st.booleans()),
                "heterogeneous": draw(st.booleans()),
            }
        )
    return Instance(name="drawn", separate_groups=separate_groups, servers=servers, jobs=jobs)
