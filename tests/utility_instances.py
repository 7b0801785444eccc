"""Small instances of utility: what a test does not say of a job has one value in all."""

from collections.abc import Sequence
from typing import Any

from dlsched.problems.utility import Instance


def job(iterations: Any = 1, rates: Any = 1, workers: int = 1, **more: Any) -> dict[str, Any]:
    """Return a job that arrives at first; a number is its rate on the GPUs of type A."""
    speeds = rates if isinstance(rates, dict) else {"A": rates}
    needs = {"workers": workers, "iterations": iterations, "rates": speeds}
    return {"arrival": 1} | needs | more


def instance(
    jobs: Sequence[dict[str, Any]], gpus: dict[str, Any], slots: int = 4, **fields: Any
) -> Instance:
    """Return an instance with jobs j0, j1 and so on, and slots of a second.

    `gpus` are those of machine m by type, or those of each machine by its id.
    """
    machines = gpus if isinstance(next(iter(gpus.values())), dict) else {"m": gpus}
    plain: dict[str, Any] = {
        "name": "hand",
        "slots": slots,
        "slot_seconds": 1,
        "machines": [{"id": name, "gpus": kinds} for name, kinds in machines.items()],
        "jobs": [{"id": f"j{i}"} | row for i, row in enumerate(jobs)],
    }
    if any("utilities" in row for row in jobs):
        plain["utility"] = {"kind": "table"}
    return Instance(**plain | fields)
