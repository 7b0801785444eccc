"""Random small utility instances."""

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
    worth = draw(st.sampled_from(["effective_throughput", "linear", "table"]))
    powers = st.sampled_from([-9, -6, -3, 0, 0, 3, 6, 9]) if scales else st.just(0)
    rate_power, seconds_power, table_power = (draw(powers) for _ in range(3))
    seconds_power = min(seconds_power, 13 - rate_power)  # iterations are at most 1e15
    job = _jobs(slots, kinds, rate_power, seconds_power, table_power if worth == "table" else None)
    jobs = draw(st.lists(job, max_size=max_jobs))
    return Instance(
        name="drawn",
        slots=slots,
        slot_seconds=float(f"1e{seconds_power}"),
        progress=draw(st.sampled_from(["per_job", "per_worker"])),
        utility={"kind": worth},
        must_finish=draw(st.booleans()) and draw(st.booleans()),
        forking=forking,
        machines=draw(_machines(kinds)),
        jobs=[row | {"id": f"j{j}"} for j, row in enumerate(jobs)],
    )


@st.composite
def _machines(draw: st.DrawFn, kinds: list[str]) -> list[dict[str, Any]]:
    """Draw one to three machines of up to two GPUs of each type, six in all."""
    machines: list[dict[str, Any]] = []
    left = 6
    for m in range(draw(st.integers(1, 3))):
        gpus = {}
        for kind in kinds:
            gpus[kind] = draw(st.integers(0, min(left, 2)))
            left -= gpus[kind]
        machines.append({"id": f"m{m}", "gpus": gpus})
    return machines


def _jobs(
    slots: int, kinds: list[str], rate_power: int, seconds_power: int, table_power: int | None
) -> st.SearchStrategy[dict[str, Any]]:
    """Return jobs without an id, most of which take a few slots whatever the powers of ten."""
    works = st.sampled_from(["1", "2", "3", "4.66", "6", "7.9", "12"])
    rates = st.sampled_from(["0", "0.5", "1", "2", "2.33", "7"])
    rate = rates.map(lambda x: float(f"{x}e{rate_power}"))
    fields: dict[str, st.SearchStrategy[Any]] = {
        "arrival": st.integers(1, slots),
        "workers": st.integers(1, 3),
        "iterations": works.map(lambda x: float(f"{x}e{rate_power + seconds_power}")),
        "rates": st.fixed_dictionaries(dict.fromkeys(kinds, rate)),
    }
    if table_power is not None:
        worths = st.lists(st.integers(0, 9), min_size=slots, max_size=slots)
        falling = worths.map(lambda row: sorted(row, reverse=True))
        fields["utilities"] = falling.map(lambda row: [float(f"{u}e{table_power}") for u in row])
    return st.fixed_dictionaries(fields)


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
