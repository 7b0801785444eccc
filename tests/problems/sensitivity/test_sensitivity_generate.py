"""Instances: drawn ones, of measured profiles, and those of a moment of a trace."""

from __future__ import annotations

from pathlib import Path

import pytest

import dlsched
from dlsched import OptionError
from dlsched.problems.sensitivity.instances.from_profiles import from_profiles
from dlsched.records import read_trace, snapshot


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
def test_files_without_measured_profiles_raise(text: str, words: str, tmp_path: Path) -> None:
    """The error names a file without measured profiles, or the set that is missing."""
    path = tmp_path / "profiles.json"
    path.write_text(text)
    with pytest.raises(dlsched.InstanceError, match=words):
        from_profiles(path)


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


def test_a_moment_of_a_trace() -> None:
    """The moment of a trace becomes an instance that is solved to optimality."""
    shot = snapshot(read_trace("synthetic-1"), at="3h", servers=2)
    made = shot.instance("sensitivity", split="60/30/10", cpus_per_gpu=4)
    assert made.servers.cpus == 32
    assert dlsched.solve(made).status == "optimal"


@pytest.mark.parametrize("split", ["20/70", "a/b/c", "-1/1/1", "0/0/0", (1, 2), None])
def test_bad_splits(split: object) -> None:
    """A split is three weights from 0, not all 0; a share of CPUs must be on the axes."""
    shot = snapshot(read_trace("synthetic-1"), at="3h", servers=2)
    with pytest.raises(OptionError, match="must be image/language/speech, as 20/70/10"):
        shot.instance("sensitivity", split=split)
    with pytest.raises(OptionError, match="must be on the axes"):
        shot.instance("sensitivity", cpus_per_gpu=7)
