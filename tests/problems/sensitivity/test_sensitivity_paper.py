"""Synergy's example, and one of two servers worked out by hand."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dlsched
from dlsched.problems.sensitivity import CpuProfile, Instance, profile_cpus
from dlsched.problems.sensitivity.instances.from_profiles import from_profiles
from dlsched.schema import Number, exact

PROFILES = Path(__file__).parents[4] / "shared" / "data" / "synergy" / "profiles.json"


def test_sensitive_beats_proportional_on_the_papers_example() -> None:
    """Tables 1-3: two sensitive and two modest jobs on two servers; 4 becomes 5.2."""
    tables = dlsched.load("synergy-tables")
    values = {m: float(dlsched.solve(tables, m).objective[0]) for m in ("proportional", "tune")}
    assert values == {"proportional": 4.0, "tune": 5.2}
    assert float(dlsched.solve(tables).objective[0]) == 5.2


@pytest.mark.skipif(not PROFILES.exists(), reason="the authors' profiles are not on this machine")
def test_the_papers_example_with_the_authors_profiles() -> None:
    """TUNE gains nothing; the optimum speeds up J1 and J2 alone, and Table 3's shares J1 alone."""
    models = ("res18_4", "m5_4", "transformer_4", "gnmt_4")
    profiles = {name: _measured(name) for name in models}
    data = {
        "name": "tables-1-to-3",
        "servers": {"count": 2, "gpus": 8, "cpus": 24, "memory": 500},
        "allow_split": False,
        "profiles": profiles,
        "jobs": [{"id": f"j{j}", "profile": model} for j, model in enumerate(models, 1)],
    }
    tables = Instance.model_validate(data)
    methods = ("proportional", "tune", "tune_public", "exact")
    best = {method: dlsched.solve(tables, method) for method in methods}
    assert [result.objective.throughput for result in best.values()] == [4, 4, 4, exact(4.93)]
    shares = best["exact"].solution.allocation
    speeds = [
        _speed(profiles[job.profile], shares[job.id].cpus, shares[job.id].memory)
        for job in tables.jobs
    ]
    assert speeds == [exact(1.53), exact(1.4), 1, 1]
    # Of the 4 GPUs of each: 23 CPUs and 400 GB for J1, 12 and 450 for J2.
    assert _speed(profiles["res18_4"], 23 / 4, 400 / 4) == exact(1.53)
    assert _speed(profiles["m5_4"], 12 / 4, 450 / 4) == 1


@pytest.mark.skipif(not PROFILES.exists(), reason="the authors' profiles are not on this machine")
@pytest.mark.parametrize(
    ("rule", "points", "worst"), [("repository", 8, 15.7), ("binary", 7, 11.5)]
)
def test_few_points_profile_the_job_of_figure_5b(rule: Any, points: int, worst: float) -> None:
    """Of 24 numbers of CPUs these many are measured; in between the error is at most this (%)."""
    known = _measured("res18_1")
    pairs = zip(known["cpus"], known["throughput"], strict=True)
    curve = CpuProfile(tuple((cpus, 1 / row[-1]) for cpus, row in pairs), (), 1, rule, 0)
    found = profile_cpus(curve.seconds, 24, 1, rule=rule)
    assert len(found.points) == points
    errors = [abs(found.seconds(cpus) / curve.seconds(cpus) - 1) for cpus in range(1, 25)]
    assert round(100 * max(errors), 1) == worst


@pytest.mark.skipif(not PROFILES.exists(), reason="the authors' profiles are not on this machine")
def test_models_of_figure_2_are_as_sensitive_as_the_authors_profiles_say() -> None:
    """AlexNet gains 2.94 from 3 to 12 CPUs, ResNet18 2.4 from 3 to 9, language models nothing."""
    for name, cpus, gain in (("alexnet", 12, 2.94), ("res18", 9, 2.4), ("deepspeech", 24, 1)):
        profile = _measured(f"{name}_1")
        assert float(_speed(profile, cpus, 250) / _speed(profile, 3, 250)) == pytest.approx(gain)
    for name in ("gnmt", "lstm", "transformer"):
        assert len({row[-1] for row in _measured(f"{name}_1")["throughput"]}) == 1


def _measured(name: str) -> dict[str, Any]:
    """Return a model's profile of the authors' file; rows of zeros were not measured."""
    data = json.loads(PROFILES.read_text())
    sets = {int(s["fair_cpu_per_gpu"]): s["models"] for s in data["sets"].values()}
    entry, axes = sets[3][name], data["axes"]
    rows = [(c, r) for c, r in zip(axes["cpu_per_gpu"], entry["tput"], strict=True) if any(r)]
    return {
        "gpus": entry["gpus"],
        "cpus": [c for c, _ in rows],
        "memory": axes[f"mem_gb_per_gpu_9x{len(entry['tput'][0])}"],
        "throughput": [row for _, row in rows],
    }


def _speed(profile: dict[str, Any], cpus: float, memory: float) -> Number:
    """Return the throughput of the largest measured point within a GPU's CPUs and memory."""
    row = max(i for i, least in enumerate(profile["cpus"]) if least <= cpus)
    column = max(i for i, least in enumerate(profile["memory"]) if least <= memory)
    speed: Number = exact(profile["throughput"][row][column])
    return speed


@pytest.mark.skipif(not PROFILES.exists(), reason="the authors' profiles are not on this machine")
def test_drawn_models_have_the_best_cases_of_the_authors_profiles() -> None:
    """CPUs and memory are equal, or a gigabyte apart, and the speeds differ by at most 6 %."""
    drawn = dlsched.generate("sensitivity", 1, servers=64)
    measured = from_profiles(PROFILES, servers=64)
    for profile in drawn.profiles:
        ours = drawn.best_cases[profile]
        theirs = measured.best_cases[profile.replace("resnet", "res")]
        assert ours.cpus == theirs.cpus
        assert abs(ours.memory - theirs.memory) < 1
        assert float(ours.throughput) == pytest.approx(float(theirs.throughput), rel=0.06)


@pytest.mark.parametrize("method", ["milp", "patterns"])
def test_two_servers_by_hand(method: str) -> None:
    """Split, c leaves a server each to a and b; whole, a and b share 4 CPUs and 4 GB."""
    two = dlsched.load("synergy-two-servers")
    # a with 3 CPUs and 2 GB, b with 1 CPU and 3 GB, and a GPU of c with 1 and 1 beside either.
    assert tuple(dlsched.solve(two, method).objective) == (Fraction(15, 4), 1)  # 1.5 + 1.25 + 1
    # c fills a server, and a and b get 3 + 1 CPUs and 1 + 3 GB of the other one.
    whole = two.model_copy(update={"allow_split": False})
    assert tuple(dlsched.solve(whole, method).objective) == (Fraction(73, 20), 0)  # 1.4 + 1.25 + 1
