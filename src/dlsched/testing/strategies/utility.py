"""Random small utility instances."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from dlsched.problems.utility.schema import Instance


@st.composite
def utility(
    draw: st.DrawFn, max_jobs: int = 3, max_slots: int = 3, forking: bool = False
) -> Instance:
    """Draw an instance of two machines or one; with `must_finish` it may be infeasible.

    Parameters
    ----------
    max_jobs, max_slots
        Upper limits of the size; the brute force is for about three of each.
    forking
        Whether jobs fork.
    """
    slots = draw(st.integers(1, max_slots))
    kinds = ["A", "B"]
    machines: list[dict[str, Any]] = []
    for m in range(draw(st.integers(1, 2))):
        gpus = {kind: draw(st.integers(0, 1 if m else 2)) for kind in kinds}
        machines.append({"id": f"m{m}", "gpus": gpus})
    kind = draw(st.sampled_from(["effective_throughput", "linear", "table"]))
    rates = st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(7, 3)])
    jobs: list[dict[str, Any]] = []
    for j in range(draw(st.integers(0, max_jobs))):
        arrival = draw(st.integers(1, slots))
        job: dict[str, Any] = {
            "id": f"j{j}",
            "arrival": arrival,
            "workers": draw(st.integers(1, 2)),
            "iterations": draw(st.integers(1, 12)),
            "rates": {name: round(float(draw(rates)), 2) for name in kinds},
        }
        if kind == "table":
            worth = draw(st.lists(st.integers(0, 9), min_size=slots, max_size=slots))
            job["utilities"] = sorted(worth, reverse=True)
        jobs.append(job)
    return Instance(
        name="drawn",
        slots=slots,
        slot_seconds=2,
        progress=draw(st.sampled_from(["per_job", "per_worker"])),
        utility={"kind": kind},
        must_finish=draw(st.booleans()) and draw(st.booleans()),
        forking=forking,
        machines=machines,
        jobs=jobs,
    )
