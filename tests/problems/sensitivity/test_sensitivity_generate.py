"""Generated and measured sensitivity instances."""

from __future__ import annotations

from pathlib import Path

import pytest

import dlsched
from dlsched.problems.sensitivity.instances.from_profiles import from_profiles, read_profiles

MEASURED = Path(__file__).parents[3].parent / "shared" / "data" / "synergy" / "profiles.json"


def test_measured_profiles_are_read_and_proved() -> None:
    """Measured profiles fill four servers of 3 to 6 CPUs per GPU, and patterns proves each."""
    if not MEASURED.exists():
        pytest.skip("the measured profiles are not here (../shared/data/synergy)")
    for cpus in (3, 4, 5, 6):
        instance = from_profiles(MEASURED, servers=4, cpus_per_gpu=cpus, multi=cpus == 3)
        assert dlsched.solve(instance).status == "optimal"
    profiles, classes = read_profiles(MEASURED)
    assert set(classes.values()) == {"image", "lang", "speech"}
    assert {len(p["memory"]) for p in profiles.values()} == {4, 5}


def test_files_without_measured_profiles_raise(tmp_path: Path) -> None:
    """The error names a file without measured profiles, or the set that is missing."""
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"sets": {"models": 1}}')
    with pytest.raises(dlsched.InstanceError, match="no file of measured profiles"):
        from_profiles(wrong)
    lacking = tmp_path / "lacking.json"
    lacking.write_text('{"sets": {}, "axes": {}, "class_of": {}}')
    with pytest.raises(dlsched.InstanceError, match="has none for 3"):
        from_profiles(lacking)


@pytest.mark.parametrize(
    "options", [{"split": "20/80"}, {"split": "a/b/c"}, {"utilization": 0.0}, {"cpus_per_gpu": 7}]
)
def test_options_out_of_range_raise(options: dict) -> None:
    """An option out of its range is an error."""
    with pytest.raises(dlsched.OptionError):
        dlsched.generate("sensitivity", 1, **options)


def test_statistics_of_the_generator() -> None:
    """Jobs need all GPUs; the mix of classes is near the split; multi has several sizes."""
    instance = dlsched.generate("sensitivity", 1, servers=64, split="30/60/10", multi=True)
    gpus = [instance.profile(job).gpus for job in instance.jobs]
    assert sum(gpus) == 512
    assert {1, 2, 4, 8} == set(gpus)
    language = ("gnmt", "transformer", "lstm")
    share = sum(job.profile.startswith(language) for job in instance.jobs) / len(instance.jobs)
    assert 0.5 < share < 0.7


def test_utilization_above_one_needs_jobs_that_wait() -> None:
    """With may_wait the jobs may need twice the cluster's GPUs; without it that is an error."""
    crowded = dlsched.generate("sensitivity", 1, servers=4, utilization=2.0, may_wait=True)
    assert sum(crowded.profile(job).gpus for job in crowded.jobs) == 64
    result = dlsched.solve(crowded, "tune")
    assert (result.details["waiting"], result.details["idle_gpus"]) == (32, 0)
    with pytest.raises(dlsched.OptionError, match="at most 1"):
        dlsched.generate("sensitivity", 1, servers=4, utilization=2.0)


def test_greedy_idles_more_where_more_jobs_are_sensitive() -> None:
    """Section 5.4: thirds of each class leave GREEDY more idle GPUs than 20/70/10, TUNE none."""
    idle = {}
    for split in ("20/70/10", "33/33/33"):
        made = dlsched.generate("sensitivity", 1, servers=16, split=split, may_wait=True)
        idle[split] = dlsched.solve(made, "greedy").details["idle_gpus"]
        assert dlsched.solve(made, "tune").details["idle_gpus"] == 0
    assert 0 < idle["20/70/10"] < idle["33/33/33"]
