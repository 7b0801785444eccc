"""The definition of sensitivity: objectives by hand, violations, and unusable fields."""

from fractions import Fraction
from typing import Any

import dlsched
from dlsched.problems.sensitivity import Instance
from sensitivity_instances import PAIR

INSTANCE = Instance(
    name="pair",
    servers={"count": 2, "gpus": 2, "cpus": 4, "memory": 4},
    profiles=PAIR,
    jobs=[{"id": "a", "profile": "one"}, {"id": "b", "profile": "two"}],
)
A = {"cpus": 3, "memory": 4, "gpus": {"0": 1}}
B = {"cpus": 1, "memory": 2, "gpus": {"1": 2}}


def solution(a: Any = A, b: Any = B, **changes: Any) -> dict[str, Any]:
    """Return a solution file of the instance with some fields changed."""
    given = {k: v for k, v in {"a": a, "b": b}.items() if v is not None}
    base = {"dlsched": 1, "problem": "sensitivity", "instance": "pair", "allocation": given}
    return base | changes


def test_objective_by_hand() -> None:
    """Job a has throughput 1.5, b 1 on half of the CPUs; nothing is split; 5 of 8 CPUs are used."""
    report = dlsched.verify(INSTANCE, solution())
    assert report.feasible
    assert tuple(report.objective) == (Fraction(5, 2), 0)
    assert report.details["cpus"] == 5 / 8
    assert report.details["gpus"] == 3 / 4
    assert (report.details["idle_gpus"], report.details["waiting"]) == (1, 0)


def test_a_split_job_counts() -> None:
    """Job b on two servers is one split job."""
    a, b = A | {"cpus": 2, "memory": 2}, B | {"gpus": {"0": 1, "1": 1}}
    report = dlsched.verify(INSTANCE, solution(a, b))
    assert report.feasible
    assert tuple(report.objective) == (2, 1)


def test_a_job_may_be_absent_where_jobs_may_wait() -> None:
    """With may_wait true an absent job is waiting, and its GPUs are idle."""
    waits = INSTANCE.model_copy(update={"may_wait": True})
    report = dlsched.verify(waits, solution(b=None))
    assert report.feasible
    assert tuple(report.objective) == (Fraction(3, 2), 0)
    assert (report.details["idle_gpus"], report.details["waiting"]) == (3, 1)


GOOD: dict[str, Any] = {
    "dlsched": 1,
    "problem": "sensitivity",
    "name": "good",
    "servers": {"count": 2, "gpus": 2, "cpus": 4, "memory": 4},
    "profiles": PAIR,
    "jobs": [{"id": "a", "profile": "one"}],
}


def test_infeasible_instances_say_why() -> None:
    """Too many GPUs, or a job larger than a server, is infeasible with a reason."""
    jobs = [{"id": f"j{i}", "profile": "two"} for i in range(3)]
    many = dlsched.solve(GOOD | {"jobs": jobs})
    assert (many.status, many.termination) == ("infeasible", "infeasible")
    assert many.reason == "the jobs need 6 GPUs, the servers have 4"
    profiles = PAIR | {"two": PAIR["two"] | {"gpus": 4}}
    large = GOOD | {"profiles": profiles, "jobs": jobs[:1], "allow_split": False}
    assert "job j0 needs 4 GPUs, a server has 2" in dlsched.solve(large).reason
    assert dlsched.solve(large | {"allow_split": True}).objective.split == 1
    assert dlsched.solve(large | {"may_wait": True}).solution.allocation == {}
