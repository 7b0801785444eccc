"""TUNE, GREEDY and the baselines, step by step and in general."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

import dlsched
from dlsched.problems.sensitivity import Instance
from dlsched.problems.sensitivity.generate import examples
from dlsched.problems.sensitivity.heuristics import best_case
from dlsched.problems.sensitivity.measured import from_profiles, read_profiles
from dlsched.testing import strategies

MEASURED = Path(__file__).parents[3].parent / "shared" / "data" / "synergy" / "profiles.json"


@given(strategies.sensitivity(max_jobs=6, max_servers=3))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_nobody_falls_below_the_proportional_share(instance: Instance) -> None:
    """With tune, greedy and drf every job is at least as fast as with its proportional share."""
    for rule in ("tune", "greedy", "drf"):
        result = dlsched.solve(instance, rule)
        if result.solution is None:
            assert not instance.allow_split or dlsched.solve(instance).status == "infeasible"
            continue
        for job in instance.jobs:
            given_ = result.solution.allocation[job.id]
            got = instance.profile(job).at(given_.cpus, given_.memory)
            assert got >= instance.proportional(job.profile).throughput


def test_sensitive_beats_proportional_on_the_papers_example() -> None:
    """Tables 1-3: two sensitive and two modest jobs on two servers; 4 becomes 5.2."""
    tables = examples()[0]
    values = {m: float(dlsched.solve(tables, m).objective[0]) for m in ("proportional", "tune")}
    assert values == {"proportional": 4.0, "tune": 5.2}
    assert float(dlsched.solve(tables).objective[0]) == 5.2


def test_two_servers_by_hand() -> None:
    """The optimum gives a 3 CPUs and b 3 GB on different servers, with c split over both."""
    two = examples()[1]
    best = dlsched.solve(two)
    assert tuple(best.objective) == (3.75, 1)  # 1.5 + 1.25 + 1
    assert tuple(dlsched.solve(two, "milp").objective) == (3.75, 1)
    whole = two.model_copy(update={"allow_split": False})
    # Whole, c fills a server, and a and b share the other: 4 CPUs, 4 GB. a (3, 1), b (1, 3).
    assert tuple(dlsched.solve(whole).objective) == (1.4 + 1.25 + 1, 0) or (
        dlsched.solve(whole).objective == dlsched.solve(whole, "milp").objective
    )


def test_best_case_is_the_least_that_saturates() -> None:
    """Of equally fast choices the one with fewest CPUs, then least memory, is the demand."""
    tables = examples()[0]
    demands = [best_case(tables, job)[:2] for job in tables.jobs]
    assert demands == [(5, 62.5), (5, 62.5), (1, 62.5), (1, 62.5)]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_order_of_the_rules(seed: int) -> None:
    """On generated clusters tune and drf are above proportional, and nobody above the optimum."""
    instance = dlsched.generate("sensitivity", seed, servers=16)
    best = dlsched.solve(instance).objective
    base = dlsched.solve(instance, "proportional").objective
    for rule in ("tune", "greedy", "drf"):
        found = dlsched.solve(instance, rule).objective
        assert found.better_than(base)
        assert not found.better_than(best)


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


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    """A file that holds no measured profiles is named, and so is a set that it lacks."""
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"sets": {"models": 1}}')
    with pytest.raises(dlsched.InstanceError, match="no file of measured profiles"):
        from_profiles(wrong)
    lacking = tmp_path / "lacking.json"
    lacking.write_text('{"sets": {}, "axes": {}, "class_of": {}}')
    with pytest.raises(dlsched.InstanceError, match="has none for 3"):
        from_profiles(lacking)


@pytest.mark.parametrize(
    "options", [{"split": "20/80"}, {"split": "a/b/c"}, {"fill": 0.0}, {"cpus_per_gpu": 7}]
)
def test_options_out_of_range_are_refused(options: dict) -> None:
    """An option that makes no sense is named."""
    with pytest.raises(dlsched.OptionError):
        dlsched.generate("sensitivity", 1, **options)


def test_statistics_of_the_generator() -> None:
    """Jobs fill the GPUs; the mix of classes is near the split; multi has several sizes."""
    instance = dlsched.generate("sensitivity", 1, servers=64, split="30/60/10", multi=True)
    gpus = [instance.profile(job).gpus for job in instance.jobs]
    assert sum(gpus) == 512
    assert {1, 2, 4, 8} == set(gpus)
    language = ("gnmt", "transformer", "lstm")
    share = sum(job.profile.startswith(language) for job in instance.jobs) / len(instance.jobs)
    assert 0.5 < share < 0.7
