"""Instances: drawn and measured ones, those of a cluster's state, and the models of its jobs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dlsched
from dlsched import OptionError, Run
from dlsched.problems.sensitivity.instances.from_profiles import from_profiles, read_profiles
from dlsched.problems.sensitivity.instances.job_models import (
    Assignment,
    Model,
    iterations,
    measured_models,
    synthetic_models,
)
from dlsched.problems.sensitivity.instances.state import Held, Rounds, Wish, held, instance
from dlsched.problems.sensitivity.programs.pooled import ideal_allocation
from dlsched.records import read_trace, snapshot
from dlsched.registry.cluster_state import ClusterState, JobState, Server

MEASURED = Path(__file__).parents[3].parent / "shared" / "data" / "synergy" / "profiles.json"


def test_measured_profiles_are_read_and_proved() -> None:
    """Measured profiles fill four servers of 3 to 6 CPUs per GPU, and patterns proves each."""
    if not MEASURED.exists():
        pytest.skip("the measured profiles are not here (../shared/data/synergy)")
    for cpus in (3, 4, 5, 6):
        made = from_profiles(MEASURED, servers=4, cpus_per_gpu=cpus, multi=cpus == 3)
        assert dlsched.solve(made).status == "optimal"
    profiles, classes = read_profiles(MEASURED)
    assert set(classes.values()) == {"image", "lang", "speech"}
    assert {len(p["memory"]) for p in profiles.values()} == {4, 5}


@pytest.mark.parametrize("read", [from_profiles, measured_models])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1}', "no file of measured profiles"),
        ('{"sets": {"models": 1}}', "no file of measured profiles"),
        ('{"sets": {}, "axes": {}, "class_of": {}}', "sets: has none for 3"),
        ('{"axes": {}, "class_of": {}, "sets": {"m": {"fair_cpu_per_gpu": 4, "models": {}}}}',
         r"sets: has none for 3; use one of \[4\]"),
    ],
)  # fmt: skip
def test_files_without_measured_profiles_raise(
    read: Callable[[Path], Any], text: str, words: str, tmp_path: Path
) -> None:
    """The error names a file without measured profiles, or the set that is missing."""
    path = tmp_path / "profiles.json"
    path.write_text(text)
    with pytest.raises(dlsched.InstanceError, match=words):
        read(path)


def test_statistics_of_the_generator() -> None:
    """Jobs need all GPUs; the mix of classes is near the split; multi has several sizes."""
    made = dlsched.generate("sensitivity", 1, servers=64, split="30/60/10", multi=True)
    gpus = [made.profile(job).gpus for job in made.jobs]
    assert sum(gpus) == 512
    assert {1, 2, 4, 8} == set(gpus)
    language = ("gnmt", "transformer", "lstm")
    share = sum(job.profile.startswith(language) for job in made.jobs) / len(made.jobs)
    assert 0.5 < share < 0.7


def test_utilization_above_one_makes_jobs_wait() -> None:
    """With may_wait the jobs may need twice the cluster's GPUs."""
    crowded = dlsched.generate("sensitivity", 1, servers=4, utilization=2.0, may_wait=True)
    assert sum(crowded.profile(job).gpus for job in crowded.jobs) == 64
    result = dlsched.solve(crowded, "tune")
    assert (result.details["waiting"], result.details["idle_gpus"]) == (32, 0)


def test_greedy_idles_more_where_more_jobs_are_sensitive() -> None:
    """Section 5.4: thirds of each class leave GREEDY more idle GPUs than 20/70/10, TUNE none."""
    idle = {}
    for split in ("20/70/10", "33/33/33"):
        made = dlsched.generate("sensitivity", 1, servers=16, split=split, may_wait=True)
        idle[split] = dlsched.solve(made, "greedy").details["idle_gpus"]
        assert dlsched.solve(made, "tune").details["idle_gpus"] == 0
    assert 0 < idle["20/70/10"] < idle["33/33/33"]


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


def test_held_is_in_total_amounts() -> None:
    """A job of two GPUs with 1 CPU and 2 GB for each holds 2 CPUs and 4 GB."""
    made = Rounds(SERVERS, PROFILES).instance([Wish("a", "modest", 2)])
    solution = dlsched.solve(made, "tune").solution
    assert solution is not None
    assert held(solution) == {"a": (Held(0, 2, 2, 4),)}


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


def test_a_moment_of_a_trace() -> None:
    """The moment of a trace becomes an instance that is solved to optimality."""
    shot = snapshot(read_trace("synthetic-1"), at="3h", servers=2)
    made = shot.instance("sensitivity", split="60/30/10", cpus_per_gpu=4)
    assert made.servers.cpus == 32
    assert dlsched.solve(made).status == "optimal"


def test_servers_of_different_sizes_are_refused() -> None:
    """Sensitivity has identical servers."""
    with pytest.raises(OptionError, match=r"the servers have \[4, 8\] GPUs"):
        instance(state(job("a", 1, 0), gpus=(8, 4)))


def test_the_class_furthest_below_its_share_is_next() -> None:
    """With 50/25/25, i l s i; each class's models take turns."""
    kinds = {"i1": "image", "i2": "image", "l": "language", "s": "speech"}
    models = [Model(name, kind, 1, {}) for name, kind in kinds.items()]
    turns = Assignment(models, (2, 1, 1))
    assert [turns.next().name for _ in range(8)] == ["i1", "l", "s", "i2", "i1", "l", "s", "i2"]


@pytest.mark.parametrize("split", ["20/70", "a/b/c", "-1/1/1", "0/0/0", (1, 2), None])
def test_bad_splits(split: object) -> None:
    """A split is three weights from 0, not all 0."""
    with pytest.raises(OptionError, match="must be image/language/speech, as 20/70/10"):
        Assignment(synthetic_models().values(), split)  # type: ignore[arg-type]


def test_a_class_with_a_weight_has_models() -> None:
    """Speech jobs cannot be drawn where no model is of speech."""
    models = [m for m in synthetic_models().values() if m.kind != "speech"]
    assert Assignment(models, "0/80/0").next().kind == "language"
    with pytest.raises(OptionError, match="has speech jobs, but no model is of that class"):
        Assignment(models, "20/70/10")


def test_iterations_are_whole_and_at_least_one() -> None:
    """10 s are 4 iterations of 2.4 s; 1 s is one."""
    model = Model("m", "image", 2.4, {})  # type: ignore[arg-type]
    assert [iterations(s, model) for s in (10, 1)] == [4, 1]


def test_shares_off_the_axes_are_refused() -> None:
    """Synthetic profiles have no share of 7 CPUs."""
    with pytest.raises(OptionError, match="must be on the axes"):
        synthetic_models(7)


def test_stage_one_gives_the_first_jobs_of_a_profile_the_fast_choices() -> None:
    """Of 9 CPUs the first hungry job gets 3, two get their share of 2.25, the modest one 1."""
    profiles = {name: row | {"cpus": [1, 2.25, 3]} for name, row in PROFILES.items()}
    rounds = Rounds(SERVERS | {"cpus": 4.5}, profiles)
    made = rounds.instance([*(Wish(n, "hungry", 1) for n in "abc"), Wish("d", "modest", 1)])
    found = ideal_allocation(made, Run())
    assert [float(found[name].cpus) for name in "abcd"] == [3, 2.25, 2.25, 1]
