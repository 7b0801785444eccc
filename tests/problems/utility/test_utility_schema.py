"""The fields of a utility file, and the errors of wrong ones."""

from __future__ import annotations

from typing import Any

import pytest

import dlsched

JOB: dict[str, Any] = {
    "id": "a", "arrival": 2, "workers": 2, "iterations": 9, "rates": {"A": 1}
}  # fmt: skip
GOOD: dict[str, Any] = {
    "dlsched": 1,
    "problem": "utility",
    "name": "good",
    "slots": 3,
    "slot_seconds": 2,
    "machines": [{"id": "m", "gpus": {"A": 2, "B": 0}}],
    "jobs": [JOB],
}
TABLE = {"utility": {"kind": "table"}}


def job(**changes: Any) -> dict[str, Any]:
    """Return the jobs with the only one changed."""
    return {"jobs": [JOB | changes]}


def test_defaults() -> None:
    """Effective throughput, progress per job, gangs, and no job has to finish."""
    made = dlsched.load(GOOD)
    assert (made.utility.kind, made.progress) == ("effective_throughput", "per_job")
    assert not (made.must_finish or made.forking)
    assert made.supply == {"A": 2}


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"slots": 0}, "slots"),
        ({"slots": 10**6}, "slots"),
        ({"slot_seconds": 0}, "slot_seconds"),
        ({"progress": "per_gpu"}, "progress"),
        ({"utility": {"kind": "steep"}}, "utility.kind"),
        ({"machines": [{"id": "m", "gpus": {"A": -1}}]}, "machines[0].gpus.A"),
        ({"machines": [{"id": "m", "gpus": {"A": 1.5}}]}, "machines[0].gpus.A"),
        ({"machines": GOOD["machines"] * 2}, "machines[1].id"),
        ({"jobs": [JOB, JOB]}, "jobs[1].id"),
        (job(arrival=0), "jobs[0].arrival"),
        (job(arrival=4), "jobs[0].arrival"),
        (job(workers=0), "jobs[0].workers"),
        (job(iterations=0), "jobs[0].iterations"),
        (job(rates={"A": -1}), "jobs[0].rates.A"),
        (job(utilities=[3, 2]), "jobs[0].utilities"),
        (TABLE, "jobs[0].utilities"),
        (TABLE | job(utilities=[3]), "jobs[0].utilities"),
        (TABLE | job(utilities=[3, 4]), "jobs[0].utilities[1]"),
        (TABLE | job(utilities=[3, 1e-305]), "jobs[0].utilities[1]"),
        ({"slot_seconds": 1e-290} | job(iterations=1e12), "jobs[0].iterations"),
        ({"speed": 1}, "speed"),
    ],
)
def test_wrong_fields_are_rejected_by_path(changes: dict[str, Any], path: str) -> None:
    """A wrong or contradictory field raises an error with its path and a remedy."""
    with pytest.raises(dlsched.InstanceError) as caught:
        dlsched.load(GOOD | changes)
    assert caught.value.path == path
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (job(iterations=100), "needs 50 slots at its fastest, 2 are left"),
        (job(workers=3), "3 workers, and too few GPUs"),
        (job(rates={"B": 1}), "too few GPUs have a rate"),
        ({"forking": True} | job(iterations=100), "needs 50 slots"),
    ],
)
def test_infeasible_instances_say_why(changes: dict[str, Any], words: str) -> None:
    """If all must finish, a job that cannot even alone is named; otherwise it is not run."""
    must = dlsched.solve(GOOD | changes | {"must_finish": True})
    assert must.status == "infeasible"
    assert words in must.reason
    assert dlsched.solve(GOOD | changes).objective.utility == 0
