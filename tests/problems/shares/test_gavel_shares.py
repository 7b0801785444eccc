"""Shares in small cases with a known answer, at the edges, and in many random ones."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import pandas as pd
import pytest

import dlsched
from dlsched.problems.shares import POLICIES, Job, Rates, check, shares
from gavel_workloads import random_jobs, random_rates

HADAR = {
    "J1": {"V100": 40, "P100": 20, "K80": 30},
    "J2": {"V100": 5, "P100": 15, "K80": 5},
    "J3": {"V100": 10, "P100": 2, "K80": 20},
}
"""Rates of the example in Hadar's section II-A."""
ONE_EACH = {"V100": 1, "P100": 1, "K80": 1}


def test_one_job_has_its_best_type() -> None:
    """A job on its own is all the time on the type on which it is fastest, by every policy."""
    job = {"id": "a", "model": "a", "steps": 120, "elapsed": 6}
    expected = {
        "max_min": Fraction(12, 8),
        "water_filling": Fraction(12, 8),
        "makespan": 10,
        "finish_time_fairness": Fraction(6 + 10, 6 + 15),
        "max_sum_throughput": 12,
    }
    for policy in POLICIES:
        found = shares({"a": {"V100": 12, "K80": 4}}, {"V100": 1, "K80": 1}, [job], policy=policy)
        assert float(found.objective) == pytest.approx(float(expected[policy]), rel=1e-9)
        assert [(s.gpu, s.beside) for s in found.shares] == [("V100", None)]


def test_two_jobs_by_hand() -> None:
    """Of jobs with rates (4, 1) and (2, 1) the first, of weight 2, gets 17/19 of the V100."""
    rates = {"a": {"V100": 4, "K80": 1}, "b": {"V100": 2, "K80": 1}}
    found = shares(rates, {"V100": 1, "K80": 1}, [Job("a", "a", weight=2), Job("b", "b")])
    # a is on the V100 for a part x, b for 1 - x: (1 + 3x) / (2 x 2.5) = (2 - x) / 1.5.
    matrix = found.to_matrix()
    assert matrix.loc["a", "V100"] == pytest.approx(17 / 19)
    assert float(found.objective) == pytest.approx(14 / 19)
    assert found.gap is not None and found.gap < 1e-9


def test_sharing_that_does_not_pay_is_left_out() -> None:
    """If taking turns is as fast, the pair has no column: half the speed each is no gain."""
    rates = {"a": {"V100": 4}, "b": {"V100": 8}}
    found = shares(rates, {"V100": 1}, pairs={("a", "b", "V100"): (2, 4)})
    assert found.size[1] == 3  # each alone, and the level
    assert {s.beside for s in found.shares} == {None}


def test_a_job_is_not_beside_itself() -> None:
    """One job of a model cannot share with its own model; of three, each is in two pairs."""
    rates, pairs = {"a": {"V100": 4}}, {("a", "a", "V100"): (3, 3)}
    assert shares(rates, {"V100": 1}, pairs=pairs).objective == 1
    jobs = [Job(f"j{i}", "a") for i in range(3)]
    found = shares(rates, {"V100": 1}, jobs, pairs=pairs)
    assert float(found.objective) == pytest.approx(2 * 3 / (3 * 4))
    shared: dict[str, Fraction] = defaultdict(Fraction)
    for pair in found.pairs():
        assert pair.job != pair.other
        shared[pair.job] += pair.share
        shared[pair.other] += pair.share
    assert list(map(float, shared.values())) == pytest.approx([2 / 3] * 3)


def test_a_long_job_beside_shorter_ones_of_its_model() -> None:
    """Under makespan a model's jobs differ; none is beside the others for more than they have."""
    rates, pairs = {"a": {"V100": 10}}, {("a", "a", "V100"): (9, 9)}
    jobs = [Job("long", "a", steps=900), Job("b", "a", steps=90), Job("c", "a", steps=90)]
    found = shares(rates, {"V100": 1}, jobs, policy="makespan", pairs=pairs)
    # b and c lie beside long for 20 s at rate 9; the rest of long, 720 steps, is alone: 92 s.
    assert float(found.objective) == pytest.approx(92)
    assert {(p.job, p.other) for p in found.pairs()} <= {("long", "b"), ("long", "c")}


def test_a_scale_above_the_gpus_of_a_type() -> None:
    """A job does not run on a type with fewer GPUs than it needs, not even for part of the time."""
    found = shares({"a": {"V100": 9, "K80": 1}}, {"V100": 3, "K80": 4}, [Job("j", "a", 4)])
    assert found.to_matrix().to_dict() == {"K80": {"j": 1.0}}
    with pytest.raises(dlsched.InstanceError, match=r"jobs: j: can run on no type.*scale 4"):
        shares({"a": {"V100": 9}}, {"V100": 3}, [Job("j", "a", 4)])


def test_a_job_without_any_rate_is_named() -> None:
    """Rates of 0, or none on the types there are, are an error with the job's name."""
    jobs = [Job("fine", "J1"), Job("stuck", "z")]
    for row in ({"V100": 0}, {"T4": 5}, {}):
        with pytest.raises(dlsched.InstanceError, match="stuck: can run on no type"):
            shares({**HADAR, "z": row}, ONE_EACH, jobs)
    with pytest.raises(dlsched.InstanceError, match="stuck: has a model without rates: 'z'"):
        shares(HADAR, ONE_EACH, jobs)


@pytest.mark.parametrize("exponent", [3, 6, 9])
def test_extreme_weights(exponent: int) -> None:
    """Weights and steps over 18 orders of magnitude leave a certified gap below 1e-6."""
    rng = random.Random(exponent)
    rates = random_rates(rng, 4, (1, 2))
    jobs = [
        replace(
            job,
            weight=rng.choice((Fraction(1, 10**exponent), 1, 10**exponent)),
            steps=rng.choice((1, 1000, 10 ** (exponent + 3))),
        )
        for job in random_jobs(rng, rates, 24, steps=True)
    ]
    for policy in POLICIES:
        found = shares(rates, {"V100": 4, "P100": 4, "K80": 4}, jobs, policy=policy)
        assert found.gap is not None and found.gap < 1e-6, policy


def test_rates_that_differ_by_rounding() -> None:
    """Rates alone and beside another that differ in the ninth digit do not stop the solver."""
    rng = random.Random(2)
    rates = random_rates(rng, 6)
    pairs = {
        (a, b, s, k): (
            float(rates.rate(a, 1, k)) * (1 + rng.uniform(-1, 1) * 1e-8),
            float(rates.rate(b, 1, k)) * (1 + rng.uniform(-1, 1) * 1e-8),
        )
        for a, b, s, k in rates.beside
        if a < b
    }
    jobs = random_jobs(rng, rates, 30)
    gpus = {"V100": 4, "P100": 4, "K80": 4}
    found = shares(Rates.of(rates, pairs), gpus, jobs, policy="water_filling")
    assert found.gap is not None and found.gap < 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_random_workloads(seed: int) -> None:
    """Every policy's shares pass the checker, and each bound holds and is close."""
    rng = random.Random(seed)
    rates = random_rates(rng, rng.randint(1, 6), rng.choice([(1,), (1, 2)]))
    jobs = random_jobs(rng, rates, rng.randint(1, 25), steps=True)
    gpus = {"V100": rng.randint(0, 4), "P100": rng.randint(1, 4), "K80": rng.randint(2, 5)}
    for policy in POLICIES:
        found = shares(rates, gpus, jobs, policy=policy)
        again = check(found.shares, rates, gpus, jobs, policy=policy)
        assert again.feasible and again.objective == found.objective
        assert found.gap is not None and found.gap < 1e-7
        beside: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
        for pair in found.pairs():
            assert pair.job != pair.other
            beside[pair.job, pair.gpu] += pair.share
            beside[pair.other, pair.gpu] += pair.share
        for share in found.shares:
            if share.beside is not None:
                beside[share.job, share.gpu] -= share.share
        assert not any(beside.values())


def test_without_a_certificate() -> None:
    """Without a bound there is no gap, and the shares are the same."""
    found = shares(HADAR, ONE_EACH, certify=False)
    assert found.bound is None and found.gap is None
    assert found.shares == shares(HADAR, ONE_EACH).shares


def test_tables_in_and_out() -> None:
    """Rates, pairs and jobs as tables give the same shares; the tables out have one row each."""
    table = pd.DataFrame(HADAR).T
    table.loc["J2", "K80"] = float("nan")
    plain = {k: dict(v) for k, v in HADAR.items()}
    plain["J2"]["K80"] = 0
    pairs = pd.DataFrame(
        [("J1", "J2", "V100", 30, 4)], columns=["model", "other", "gpu", "rate", "rate_of_other"]
    )
    jobs = pd.DataFrame({"id": ["a", "b"], "model": ["J1", "J2"], "weight": [1.0, 2.5]})
    found = shares(table, ONE_EACH, jobs, pairs=pairs)
    same = shares(plain, ONE_EACH, [Job("a", "J1"), Job("b", "J2", weight=Fraction(5, 2))],
                  pairs={("J2", "J1", "V100"): (4, 30)})  # fmt: skip
    assert found.shares == same.shares
    frame = found.to_frame()
    assert list(frame.columns) == ["job", "gpu", "beside", "share"]
    assert len(frame) == len(found.shares)
    assert list(found.jobs_frame()["job"]) == ["a", "b"]
    assert found.to_matrix().to_numpy().sum() == pytest.approx(float(frame["share"].sum()))
    assert repr(found).startswith("Shares(max_min, 2 jobs, ")


def test_rates_by_model_and_scale_as_a_table() -> None:
    """A table with an index of model and scale has rates of their own for each scale."""
    index = pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])
    table = pd.DataFrame({"V100": [4, 7], "K80": [1, 2]}, index=index)
    found = shares(table, {"V100": 2, "K80": 2})
    assert [(j.id, j.scale) for j in found.jobs] == [("a x1", 1), ("a x2", 2)]
    assert Rates.of(table).rate("a", 2, "V100") == 7
