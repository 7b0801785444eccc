"""Internal: the jobs of a moment and of a policy's rounds as instances, and the models of jobs."""

from __future__ import annotations

import dlsched
from dlsched import Run
from dlsched.problems.sensitivity.instances.job_models import (
    Assignment,
    Model,
)
from dlsched.problems.sensitivity.instances.state import Rounds, Wish, instance
from dlsched.problems.sensitivity.programs.pooled import ideal_allocation
from dlsched.registry.cluster_state import ClusterState, JobState, Server

SERVERS = {"count": 2, "gpus": 2, "cpus": 4, "memory": 4}
PROFILES = {
    "hungry": {"cpus": [1, 2, 3], "memory": [2], "throughput": [[0.5], [1], [1.5]]},
    "modest": {"cpus": [1, 2, 3], "memory": [2], "throughput": [[1], [1], [1]]},
}


def test_rounds_make_the_instances_that_a_file_would() -> None:
    """What is kept from one round to the next is what a new instance derives."""
    rounds = Rounds(SERVERS, PROFILES)
    rounds.instance([Wish("x", "hungry", 1), Wish("y", "modest", 2)])
    made = rounds.instance([Wish("a", "modest", 2), Wish("b", "hungry", 1), Wish("c", "hungry", 1)])
    fresh = dlsched.load(made.to_data())
    assert made == fresh
    for name in ("choices", "undominated", "best_cases", "shares"):
        assert getattr(made, name) == getattr(fresh, name)
    assert [job.profile for job in made.jobs] == ["modest_2", "hungry_1", "hungry_1"]
    assert rounds.instance([Wish("a", "modest", 1)], may_wait=True).may_wait


def state(*jobs: JobState, gpus: tuple[int, ...] = (8, 8)) -> ClusterState:
    """Return a moment at which these jobs wait."""
    servers = tuple(Server(f"s{i}", count) for i, count in enumerate(gpus))
    return ClusterState(time=0, servers=servers, running=(), waiting=jobs)


def job(name: str, gpus: int, submit: int, model: str | None = None) -> JobState:
    """Return a job that needs 100 s."""
    return JobState(name, gpus, gpus, gpus, submit, 100, model=model)


def test_jobs_are_taken_in_the_order_of_submission_and_skipped_if_they_do_not_fit() -> None:
    """Of 16 GPUs, jobs of 8, 4 and 4 are taken, one of 16 between them is skipped."""
    jobs = (job("late", 4, 5), job("a", 8, 1), job("large", 16, 2), job("b", 4, 3, "gnmt"))
    made = instance(state(*jobs), split="100/0/0")
    assert [(j.id, j.profile) for j in made.jobs] == [
        ("a", "alexnet_8"), ("b", "gnmt_4"), ("late", "shufflenet_4"),
    ]  # fmt: skip
    assert (made.servers.count, made.servers.cpus, made.servers.memory) == (2, 24, 500)


def test_the_class_furthest_below_its_share_is_next() -> None:
    """With 50/25/25, i l s i; each class's models take turns."""
    kinds = {"i1": "image", "i2": "image", "l": "language", "s": "speech"}
    models = [Model(name, kind, 1, {}) for name, kind in kinds.items()]
    turns = Assignment(models, (2, 1, 1))
    assert [turns.next().name for _ in range(8)] == ["i1", "l", "s", "i2", "i1", "l", "s", "i2"]


def test_stage_one_gives_the_first_jobs_of_a_profile_the_fast_choices() -> None:
    """Of 9 CPUs the first hungry job gets 3, two get their share of 2.25, the modest one 1."""
    profiles = {name: row | {"cpus": [1, 2.25, 3]} for name, row in PROFILES.items()}
    rounds = Rounds(SERVERS | {"cpus": 4.5}, profiles)
    made = rounds.instance([*(Wish(n, "hungry", 1) for n in "abc"), Wish("d", "modest", 1)])
    found = ideal_allocation(made, Run())
    assert [float(found[name].cpus) for name in "abcd"] == [3, 2.25, 2.25, 1]
