"""Lyra's Tables 3 and 4 to the printed digits, and completion times worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from claims_only.completion_times import jct
from elastic_instances import epoch, job

import dlsched


@pytest.mark.parametrize(
    ("name", "rule", "printed"),
    [
        ("lyra-table2", ["A", "B"], 51.67),
        ("lyra-table2", ["B", "A"], 41.67),
        ("lyra-table2", "equal", 45),
        ("lyra-table4", ["A", "B"], 62),
        ("lyra-table4", ["B", "A"], 63.33),
    ],
)
def test_tables_3_and_4(name: str, rule: str | list[str], printed: float) -> None:
    """The mean completion times equal the printed ones."""
    assert round(float(jct(dlsched.load(name), rule).mean), 2) == printed


def test_completion_times_of_table_4() -> None:
    """Favouring A, B completes at 24 s and A at 100 s; favouring B, at 20 s and 106.67 s."""
    first = jct(dlsched.load("lyra-table4"), ["A", "B"]).times
    second = jct(dlsched.load("lyra-table4"), "shortest").times
    assert first == {"B": 24, "A": 100}
    assert (second["B"], round(float(second["A"]), 2)) == (20, 106.67)


def test_started_jobs_keep_their_base() -> None:
    """When A of (A, B, C) completes, C is not stopped for B, which did not fit before."""
    three = epoch(8, job("A", 4, 4, 10), job("B", 6, 6, 10), job("C", 4, 4, 100))
    times = jct(three, ["A", "B", "C"]).times
    assert times == {"A": 10, "C": 100, "B": 110}


def test_a_job_that_never_fits_is_an_error() -> None:
    """A job larger than the cluster has no completion time."""
    with pytest.raises(dlsched.OptionError, match="needs more GPUs"):
        jct(epoch(8, job("A", 1, 1, 1, 9)))


@pytest.mark.parametrize("rule", ["longest_first", ["A"], ["A", "A"]])
def test_unknown_rules_are_refused(rule: Any) -> None:
    """A rule is a known name or a permutation of the ids."""
    with pytest.raises(dlsched.OptionError):
        jct(dlsched.load("lyra-table2"), rule)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_without_loan_the_times_are_those_of_one_capacity(seed: int) -> None:
    """With nothing on loan they are those of training alone."""
    one = dlsched.generate("elastic", seed=seed, jobs=12, capacity=30)
    two = dlsched.generate("elastic", seed=seed, jobs=12, capacity=30, loan=0,
                           fungible=0.0, heterogeneous=0.0)  # fmt: skip
    for rule in ("shortest", "longest", "equal"):
        assert jct(two, rule) == jct(one, rule)


def test_completion_times_on_two_pools_by_hand() -> None:
    """b is on loan from the start, at half speed; c waits for a, then both GPUs are its own."""
    # a: 60 s of work on 2 GPUs of training. b: 30 s on one of loan take 60. c: 40 s of work with
    # two workers follow at 30 s.
    made = epoch(2, job("a", 2, 2, 30), job("b", 1, 1, 30, fungible=True, running=True,
                 base_pool="loan"), job("c", 1, 2, 20), loan=1)  # fmt: skip
    made = made.model_copy(update={"pools": epoch(2, loan=0).pools})
    assert jct(made, ["a", "b", "c"]).times == {"a": 30, "b": 60, "c": 50}


def test_started_jobs_stay_where_their_base_is() -> None:
    """The elastic e starts on loan; when training is free again, it stays there."""
    made = epoch(2, job("i", 2, 2, 10), job("e", 1, 2, 10, fungible=True), loan=2)
    assert jct(made, ["i", "e"]).times == {"i": 10, "e": 20}


def test_both_pools_are_named() -> None:
    """The error has the GPUs of both pools."""
    with pytest.raises(dlsched.OptionError, match="'a' needs more GPUs than there are: 1 and 5"):
        jct(epoch(1, job("a", 2, 2, 1), loan=5))
