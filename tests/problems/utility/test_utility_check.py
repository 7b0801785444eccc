"""The definition of utility: utilities by hand, violations, and unusable fields."""

from fractions import Fraction
from typing import Any

import pytest

import dlsched
from dlsched.problems.utility import Instance
from utility_instances import job

DATA: dict[str, Any] = {
    "name": "pair",
    "slots": 4,
    "slot_seconds": 10,
    "machines": [{"id": "m", "gpus": {"A": 2}}, {"id": "n", "gpus": {"A": 1, "B": 1}}],
    "jobs": [job(40, {"A": 2, "B": 1}, 2, id="a"), job(15, id="b", arrival=2)],
}
INSTANCE = Instance(**DATA)
A = [{"slot": 1, "gpus": {"m": {"A": 2}}}, {"slot": 3, "gpus": {"m": {"A": 2}}}]
B = [{"slot": 2, "gpus": {"n": {"A": 1}}}, {"slot": 3, "gpus": {"n": {"A": 1}}}]


def solution(a: Any = A, b: Any = B, **changes: Any) -> dict[str, Any]:
    """Return a solution file of the instance with some fields changed."""
    base = {"dlsched": 1, "problem": "utility", "instance": "pair", "schedule": {"a": a, "b": b}}
    return base | changes


def test_worth_by_hand() -> None:
    """a does 2 x 20 iterations by slot 3, b 2 x 10 by slot 3: 40 / 30 + 15 / 20 a second."""
    report = dlsched.verify(INSTANCE, solution())
    assert report.feasible
    assert report.objective.utility == Fraction(4, 3) + Fraction(3, 4)
    assert report.details["finished"] == 2
    assert report.details["mean_completion"] == 2.5
    assert report.details["last_slot"] == 3
    assert report.details["used"] == 0.5  # six of twelve
    nothing = dlsched.verify(INSTANCE, solution([], []))
    assert (nothing.objective.utility, nothing.details["used"]) == (0, 0)


def test_the_slowest_type_sets_the_rate() -> None:
    """On A and B job a does 10 iterations a slot: four slots, and 30 are not enough."""
    mixed = [{"slot": t, "gpus": {"n": {"A": 1, "B": 1}}} for t in (1, 2, 3, 4)]
    assert dlsched.verify(INSTANCE, solution(mixed, [])).objective.utility == 1
    late = dlsched.verify(INSTANCE, solution(mixed[:3], []))
    assert (late.feasible, late.objective.utility, late.details["unfinished"]) == (True, 0, 2)


@pytest.mark.parametrize(
    ("kind", "worth"), [("linear", 2 + 3), ("table", 7 + 5), ("effective_throughput", None)]
)
def test_utilities_by_completion_time(kind: str, worth: Any) -> None:
    """Completion times are 3 for a and 2 for b: slots + 1 minus them, or the tables' entries."""
    jobs = [dict(job) for job in DATA["jobs"]]
    if kind == "table":
        jobs[0]["utilities"], jobs[1]["utilities"] = [9, 8, 7, 6], [6, 5, 4]
    made = Instance(**DATA | {"jobs": jobs, "utility": {"kind": kind}})
    expected = Fraction(4, 3) + Fraction(3, 4) if worth is None else worth
    assert dlsched.verify(made, solution()).objective.utility == expected


def test_progress_per_worker() -> None:
    """By the letter of 1a the two workers of job a do twice as much: one slot is enough."""
    made = INSTANCE.model_copy(update={"progress": "per_worker"})
    assert dlsched.verify(made, solution(A[:1], [])).objective.utility == 4


def test_forking_by_hand() -> None:
    """Copies on both machines add up: 20 + 10 a slot; two copies on one machine are too many."""
    forking = INSTANCE.model_copy(update={"forking": True})
    both = [{"slot": t, "gpus": {"m": {"A": 1}, "n": {"B": 1}}} for t in (1, 2)]
    assert dlsched.verify(forking, solution(both, [])).objective.utility == 2
    report = dlsched.verify(forking, solution([{"slot": 1, "gpus": {"m": {"A": 2}}}], []))
    assert [(v.kind, v.amount) for v in report.violations] == [("several_on_machine", 1)]


JOB: dict[str, Any] = job(9, workers=2, id="a", arrival=2)
GOOD: dict[str, Any] = {"dlsched": 1, "problem": "utility"} | {
    "name": "good", "slots": 3, "slot_seconds": 2,
    "machines": [{"id": "m", "gpus": {"A": 2, "B": 0}}], "jobs": [JOB],
}  # fmt: skip


def only(**changes: Any) -> dict[str, Any]:
    """Return the jobs with the only one changed."""
    return {"jobs": [JOB | changes]}


@pytest.mark.parametrize(
    "changes",
    [only(iterations=100), only(workers=3), only(rates={"B": 1}),
     {"forking": True} | only(iterations=100)],
)  # fmt: skip
def test_a_job_that_cannot_finish_is_not_run(changes: dict[str, Any]) -> None:
    """Unless all must finish: then there is no solution, and reports.txt has why."""
    assert dlsched.solve(GOOD | changes).objective.utility == 0
