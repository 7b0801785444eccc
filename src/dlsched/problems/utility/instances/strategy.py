"""Random small utility instances."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from dlsched.problems.utility.definition.schema import Instance

VARIATIONS: tuple[dict[str, Any], ...] = ({}, {"forking": True, "max_jobs": 2})
"""Options of `instances` with which the conformance suite draws."""


@st.composite
def instances(
    draw: st.DrawFn,
    max_jobs: int = 3,
    max_slots: int = 4,
    max_kinds: int = 3,
    forking: bool = False,
    scales: bool = True,
) -> Instance:
    """Draw an instance of one to three machines; with `must_finish` it may be infeasible.

    Parameters
    ----------
    max_jobs, max_slots, max_kinds
        Upper limits of the size; the brute force is for about three jobs and four slots.
    forking
        Whether jobs fork.
    scales
        Whether rates, iterations, seconds and tables may be far from 1, by one factor each.
    """
    slots = draw(st.integers(1, max_slots))
    kinds = [f"T{i}" for i in range(draw(st.integers(1, max_kinds)))]
    machines: list[dict[str, Any]] = []
    left = 6
    for m in range(draw(st.integers(1, 3))):
        gpus = {}
        for kind in kinds:
            gpus[kind] = draw(st.integers(0, min(left, 2)))
            left -= gpus[kind]
        machines.append({"id": f"m{m}", "gpus": gpus})
    worth = draw(st.sampled_from(["effective_throughput", "linear", "table"]))
    powers = st.sampled_from([-9, -6, -3, 0, 0, 3, 6, 9]) if scales else st.just(0)
    rate_power, seconds_power, table_power = (draw(powers) for _ in range(3))
    seconds_power = min(seconds_power, 13 - rate_power)  # iterations are at most 1e15
    rates = st.sampled_from(["0", "0.5", "1", "2", "2.33", "7"])
    jobs: list[dict[str, Any]] = []
    for j in range(draw(st.integers(0, max_jobs))):
        arrival = draw(st.integers(1, slots))
        # Most jobs take a few slots: `seconds_power` and `rate_power` are in the work, too.
        work = draw(st.sampled_from(["1", "2", "3", "4.66", "6", "7.9", "12"]))
        job: dict[str, Any] = {
            "id": f"j{j}",
            "arrival": arrival,
            "workers": draw(st.integers(1, 3)),
            "iterations": float(f"{work}e{rate_power + seconds_power}"),
            "rates": {name: float(f"{draw(rates)}e{rate_power}") for name in kinds},
        }
        if worth == "table":
            table = draw(st.lists(st.integers(0, 9), min_size=slots, max_size=slots))
            job["utilities"] = [float(f"{u}e{table_power}") for u in sorted(table, reverse=True)]
        jobs.append(job)
    return Instance(
        name="drawn",
        slots=slots,
        slot_seconds=float(f"1e{seconds_power}"),
        progress=draw(st.sampled_from(["per_job", "per_worker"])),
        utility={"kind": worth},
        must_finish=draw(st.booleans()) and draw(st.booleans()),
        forking=forking,
        machines=machines,
        jobs=jobs,
    )


def infeasible() -> list[Instance]:
    """Return two jobs of one slot on one GPU: each alone finishes in time, not both."""
    job = {"arrival": 1, "workers": 1, "iterations": 1, "rates": {"A": 1}}
    return [
        Instance(
            name="infeasible",
            slots=1,
            slot_seconds=1,
            must_finish=True,
            machines=[{"id": "m", "gpus": {"A": 1}}],
            jobs=[job | {"id": "a"}, job | {"id": "b"}],
        )
    ]
