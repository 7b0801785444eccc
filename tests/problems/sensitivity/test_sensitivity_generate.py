"""Instances, drawn, of profiles and of a trace; optimistic profiling: what is measured, errors."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dlsched
from dlsched import OptionError
from dlsched.problems import sensitivity
from dlsched.problems.sensitivity import (
    SensitivityMatrix,
    best_case,
    error_bound,
    fill_memory,
    profile_cpus,
    sensitivity_profile,
)
from dlsched.problems.sensitivity.instances.from_profiles import from_profiles
from dlsched.records import read_trace
from dlsched.simulation import snapshot
from dlsched.simulation.workload.generators import synergy_workload
from drawing import draws
from refused_calls import assert_refused, reports


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


def test_a_file_may_have_no_times(tmp_path: Path) -> None:
    """Only jobs of so many iterations need the seconds of one."""
    path = tmp_path / "profiles.json"
    models = {"a_1": {"model": "a", "gpus": 1, "tput": [[1]]}}
    data = {"axes": {"cpu_per_gpu": [3], "mem_gb_per_gpu_9x1": [62.5]}, "class_of": {"a": "image"}}
    path.write_text(json.dumps(data | {"sets": {"r": {"fair_cpu_per_gpu": 3, "models": models}}}))
    assert len(from_profiles(path, servers=1, split=(1, 0, 0)).jobs) == 8
    with pytest.raises(dlsched.InstanceError, match=r"a_1\.iter_time_s_at_fair: is missing"):
        synergy_workload(3, measured=path, split="1/0/0")


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


CPUS = 24
RULES = ("binary", "repository")


def saturating(work: float, compute: float) -> Callable[[int], float]:
    """Return T(c) = max(work / c, compute): preprocessing, until the GPU is the bottleneck."""
    return lambda cpus: max(work / cpus, compute)


@pytest.mark.parametrize("knee", [0.5, 1, 2.5, 6, 11, 13, 17.3, 23, 24, 30])
@pytest.mark.parametrize("rule", RULES)
def test_exact_on_a_saturating_curve(rule: Any, knee: float) -> None:
    """With a threshold of 0 every number of CPUs is exact: throughput is linear, then constant."""
    curve = saturating(knee * 10, 10)
    found = profile_cpus(curve, CPUS, 1, 0.0, rule)
    for cpus, seconds in found.curve().items():
        assert seconds == pytest.approx(curve(cpus), rel=1e-12)


def test_eight_of_24_points() -> None:
    """The public rule measures eight of 24 numbers of CPUs (section 3.1): it halves and steps."""
    for curve in (saturating(480, 1), lambda cpus: 2000 * cpus**-0.65):
        found = profile_cpus(curve, CPUS, 1, rule="repository")
        assert [cpus for cpus, _ in found.points] == [1, 2, 3, 4, 5, 11, 12, 24]
        assert found.measured == (24, 24, 12, 11, 5, 4, 3, 2, 1)
        assert found.measurements == 9
    found = profile_cpus(saturating(70, 10), 24, 2, rule="repository")
    assert found.measured == (24, 24, 12, 6, 4, 2)


@pytest.mark.parametrize("gpus", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("most", [8, 9, 17, 24, 30])
def test_several_gpus(gpus: int, most: int) -> None:
    """The binary rule measures multiples of the GPUs, one CPU per GPU last, and the maximum."""
    found = profile_cpus(saturating(90, 10), most, gpus)
    assert found.measured[0] == most and gpus in dict(found.points)
    assert all(cpus % gpus == 0 for cpus in found.measured[1:])
    assert len(set(found.measured)) == found.measurements


@settings(max_examples=draws(1000, 100), deadline=None)
@given(
    steps=st.lists(st.floats(0, 1), min_size=CPUS - 1, max_size=CPUS - 1),
    threshold=st.sampled_from([0.0, 0.05, 0.1, 0.5]),
    rule=st.sampled_from(RULES),
)
@example(steps=[0.0] * 22 + [1.0], threshold=0.1, rule="binary")
def test_error_bound_holds(steps: list[float], threshold: float, rule: Any) -> None:
    """On any monotone curve no estimate is further off than the bound of its interval."""
    times = [1.0]
    for step in steps:
        times.append(times[-1] / (1 + step))
    found = profile_cpus(lambda cpus: times[cpus - 1], CPUS, 1, threshold, rule)
    assert found.points[0][0] == 1 and found.points[-1][0] == CPUS
    for gap in error_bound(found):
        for cpus in range(gap.low, gap.high + 1):
            error = abs(found.seconds(cpus) / times[cpus - 1] - 1)
            assert error <= gap.error + 1e-12


def test_error_bound_by_hand() -> None:
    """Between 4 CPUs at 10 s and 8 at 8 s the error is at most a quarter; next to each other, 0."""
    bounds = error_bound({4: 10, 8: 8, 9: 8, 12: 8})
    assert [tuple(gap) for gap in bounds] == [(4, 8, 0.25), (8, 9, 0.0), (9, 12, 0.0)]
    with pytest.raises(dlsched.InstanceError, match="takes 9 s with 8 CPUs and 8 s with 4"):
        error_bound({4: 8, 8: 9})


def test_memory_by_hand() -> None:
    """100 GB with 40 in memory at 10 GB/s and 60 from storage at 512 MB/s: 4 + 120 seconds."""
    matrix = fill_memory({1: 300, 3: 100}, [40, 100, 200], 100, 512, 10)
    assert matrix.seconds == ((300, 300, 300), (124, 100, 100))
    assert matrix.at(3, 40) == 124
    assert list(matrix.to_frame().columns) == [40, 100, 200]
    no_cache = fill_memory({3: 100}, [0, 100], 100, 512, {3: 0.5})
    assert no_cache.seconds == ((200, 200),)


def test_best_case() -> None:
    """The least CPUs within the tolerance of the fastest come first, then the least memory."""
    rows = ((9.0, 8.0, 5.6), (9.0, 5.4, 5.0), (9.0, 5.0, 5.0))
    matrix = SensitivityMatrix((1, 2, 3), (10, 20, 30), rows)
    assert best_case(matrix)[:2] == (2, 30)
    assert best_case(matrix, 0.1)[:2] == (2, 20)
    assert best_case(matrix, 0.12)[:2] == (1, 30)


def test_profiles_are_per_gpu() -> None:
    """Axes are divided by the job's GPUs, and throughput is relative to the proportional share."""
    matrix = SensitivityMatrix((4, 12, 16), (125, 250), ((8.0, 8.0), (6.0, 4.0), (5.0, 2.0)))
    assert sensitivity_profile(matrix, 4, 3, 62.5) == {
        "gpus": 4,
        "cpus": [1, 3, 4],
        "memory": [31.25, 62.5],
        "throughput": [[0.5, 0.5], [round(4 / 6, 12), 1.0], [0.8, 2.0]],
    }
    with pytest.raises(dlsched.InstanceError, match="matrix: memory: lacks 500"):
        sensitivity_profile(matrix, 4, 3, 125)


def never(cpus: int) -> float:
    """Measure nothing: options are looked at first."""
    raise AssertionError(cpus)


TWO_GPUS = profile_cpus(saturating(60, 5), CPUS, 2)


REFUSED = reports(Path(__file__).with_name("refused.txt"))


@pytest.mark.parametrize("call", REFUSED)
def test_what_cannot_be_used_is_named(call: str) -> None:
    """Measurements that are none, and options, sizes, bandwidths and points out of range."""
    assert_refused(call, REFUSED[call], sensitivity, globals())
