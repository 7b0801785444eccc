"""The checker of shares: what it finds, and what bad input is told."""

from __future__ import annotations

import gzip
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dlsched
from dlsched.problems.shares import Job, Rates, Share, check, read_rates, shares

RATES = Rates.of(
    {"a": {"V100": 4, "K80": 1}, "b": {"V100": 8}, "c": {"V100": 2, "K80": 2}},
    {("a", "b", "V100"): (3, 6), ("a", "a", "V100"): (3, 3)},
)
GPUS = {"V100": 1, "K80": 1}
JOBS = [Job("a1", "a"), Job("a2", "a"), Job("b1", "b"), Job("c2", "c", 2)]
GOOD: list[tuple[str, str, str | None, Any]] = [
    ("a1", "V100", "b", 0.25),
    ("b1", "V100", "a", 0.25),
    ("a1", "V100", "a", 0.25),
    ("a2", "V100", "a", 0.25),
    ("a2", "K80", None, 0.75),
]


def broken(rows: list[Any], jobs: list[Job] = JOBS[:3]) -> set[str]:
    """Return the kinds of violations of some shares."""
    return {v.kind for v in check(rows, RATES, GPUS, jobs).violations}


def test_good_shares() -> None:
    """Shares that break nothing are worth what their definition says."""
    found = check(GOOD, RATES, GPUS, JOBS[:3])
    assert found.feasible
    assert found.throughput == {"a1": Fraction(3, 2), "a2": Fraction(3, 2), "b1": Fraction(3, 2)}
    assert found.objective == min(found.values.values()) == Fraction(3, 2) / 4  # b's prop is 4


CORRUPTED = {
    "negative": [*GOOD, ("a1", "K80", None, -0.01)],
    "time": [*GOOD, ("a2", "K80", None, 0.001)],
    "gpus": [*GOOD, ("a1", "V100", None, 0.5), ("b1", "V100", None, 0.01)],
    "cannot_run": [*GOOD, ("b1", "K80", None, 0.1)],
    "cannot_share": [*GOOD, ("a1", "K80", "b", 0.1), ("b1", "K80", "a", 0.1)],
    "sides": [GOOD[0], *GOOD[2:]],
    "own_half": [*GOOD[:3], ("a2", "V100", "a", 0.2), GOOD[4]],
}


@pytest.mark.parametrize("kind", CORRUPTED)
def test_every_violation_is_found(kind: str) -> None:
    """Each kind of broken requirement is found, and no other."""
    assert broken(CORRUPTED[kind]) == {kind}


def test_the_least_excess_is_found() -> None:
    """Arithmetic is exact: one part in 10**30 too much is too much."""
    rows = [Share("a1", "V100", None, Fraction(1)), Share("a2", "V100", None, Fraction(1, 10**30))]
    assert broken(list(rows)) == {"gpus"}


def test_a_scale_above_the_supply_cannot_run() -> None:
    """A job of two GPUs on a type with one breaks a requirement, and is no input by itself."""
    with pytest.raises(dlsched.InstanceError, match="c2: can run on no type"):
        check([], RATES, GPUS, JOBS)
    rows = [("c2", "K80", None, 0.1)]
    found = check(rows, RATES, {"V100": 2, "K80": 1}, JOBS)
    assert {v.kind for v in found.violations} == {"cannot_run"}


def test_no_throughput_is_an_infinite_makespan() -> None:
    """A job without shares never finishes."""
    jobs = [Job("a1", "a", steps=10)]
    found = check([], RATES, GPUS, jobs, policy="makespan")
    assert found.feasible and found.objective is None and found.values == {"a1": None}
    assert check([], RATES, GPUS, jobs).objective == 0


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no jobs": ({"jobs": []}, "jobs: has no job"),
    "unknown field": ({"jobs": [{"id": "a", "modell": "a"}]}, r"jobs: \[0\].modell: is unknown"),
    "no model": ({"jobs": [{"id": "a"}]}, r"jobs: \[0\].model: is missing"),
    "id twice": ({"jobs": [JOBS[0], JOBS[0]]}, r"jobs: \[1\].id: 'a1' stands twice"),
    "scale": ({"jobs": [{"id": "a", "model": "a", "scale": 1.5}]}, r"scale: 1.5 is not a whole"),
    "weight": ({"jobs": [{"id": "a", "model": "a", "weight": 0}]}, "weight: 0 is too small"),
    "nan": ({"jobs": [{"id": "a", "model": "a", "weight": float("nan")}]}, "not a finite number"),
    "no steps": ({"policy": "makespan"}, r"jobs: \[0\].steps: of 'a1' is missing"),
    "no gpus": ({"gpus": {"V100": 0}}, "gpus: has no GPU"),
    "negative gpus": ({"gpus": {"V100": -1}}, "gpus: V100: -1 is too small"),
    "negative rate": ({"rates": {"a": {"V100": -1}}}, r"\['a'\].V100: -1 is negative"),
    "no rates": ({"rates": {}}, "rates: is empty"),
    "rate text": ({"rates": {"a": {"V100": "4"}}}, r"\['a'\].V100: \"4\" is not a number"),
    "pair key": ({"pairs": {("a", "V100"): (1, 1)}}, "pairs: .* names no pair"),
    "pair model": ({"pairs": {("a", "z", "V100"): (1, 1)}}, "'z' has no rates alone"),
    "pair sides": (
        {"pairs": {("a", "b", "V100"): (1, 2), ("b", "a", "V100"): (2, 3)}},
        "'b' has 2 here, 3 in the other order|'a' has 3 here, 1 in the other order",
    ),
    "pair of one": ({"pairs": {("a", "b", "V100"): (1,)}}, "give both jobs' rates"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    """Input that cannot be used is one error that names the field."""
    change, said = BAD[name]
    given: dict[str, Any] = {"rates": RATES, "gpus": GPUS, "jobs": JOBS[:3]} | change
    with pytest.raises(dlsched.InstanceError, match=said):
        shares(**given)


def test_unknown_policy_and_missing_pairs() -> None:
    """A policy that is not there names those near; sharing needs rates of pairs."""
    with pytest.raises(dlsched.UnknownName, match="did you mean 'max_min'"):
        shares(RATES, GPUS, JOBS[:3], policy="maxmin")
    with pytest.raises(dlsched.UnknownName, match="no policy is called"):
        shares(RATES, GPUS, JOBS[:3], policy=["max_min"])  # type: ignore[arg-type]
    with pytest.raises(dlsched.OptionError, match="give pairs="):
        shares({"a": {"V100": 1}}, {"V100": 1}, space_sharing=True)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ((["a1"], "V100", None, 1), "is no job"),
        (("a1", {}, None, 1), "is no type of GPU"),
        (("a1", "V100", ["b"], 1), "is no model"),
        (("a1", "V100", None), "is no share"),
        (("a1", "V100", None, "1"), "is not a number"),
    ],
)
def test_rows_that_are_no_shares(row: Any, said: str) -> None:
    """What is no share is one error that names the row."""
    with pytest.raises(dlsched.InstanceError, match=rf"shares: \[0\]: .*{said}"):
        check([row], RATES, GPUS, JOBS[:3])


ALONE = [
    {"job_type": "m", "scale_factor": 1, "iterations_per_second": {"v100": 4.25, "k80": 0.5}},
    {"job_type": "n", "scale_factor": 1, "iterations_per_second": {"v100": 2, "k80": 0}},
]
COLUMNS = [
    "gpu",
    "scale_factor",
    "job_type",
    "beside",
    "iterations_per_second",
    "iterations_per_second_of_the_other",
]
ROWS = [["v100", 1, "m", "n", 3, 1.5], ["v100", 1, "n", "m", 1.5, 3], ["k80", 1, "m", "n", 0, 0]]


def write(folder: Path, alone: object, pairs: object) -> tuple[Path, Path]:
    """Write two files of rates, the second packed, and return their paths."""
    first, second = folder / "alone.json", folder / "pairs.json.gz"
    first.write_text(json.dumps(alone))
    second.write_bytes(gzip.compress(json.dumps(pairs).encode()))
    return first, second


def test_files_of_rates(tmp_path: Path) -> None:
    """Rates alone and of pairs are read by model and scale; a pair with a rate of 0 is none."""
    rates = read_rates(*write(tmp_path, ALONE, {"columns": COLUMNS, "rows": ROWS}))
    assert rates.rate("m", 1, "v100") == Fraction("4.25")
    assert rates.pair("n", "m", 1, "v100") == (Fraction(3, 2), 3)
    assert rates.pair("m", "n", 1, "k80") is None
    assert not rates.knows("m", 2)
    assert not read_rates(tmp_path / "alone.json").beside


def test_rates_equal_up_to_rounding_are_equal(tmp_path: Path) -> None:
    """A rate beside another job that is the rate alone, with more digits, is that rate."""
    rows = [["v100", 1, "m", "n", 4.25000049, 1.5]]
    rates = read_rates(*write(tmp_path, ALONE, {"columns": COLUMNS, "rows": rows}))
    assert rates.pair("m", "n", 1, "v100") == (Fraction("4.25"), Fraction(3, 2))


def test_nested_files(tmp_path: Path) -> None:
    """A file of the public code has jobs by three spellings; different scales are not shared."""
    data = {
        "v100": {
            "('m', 2)": {
                "null": 4.25,
                "('m', 2)": [3.5, 2.5],
                "('n', 2)": [3, 1],
                "('n', 1)": [2, 2],
            },
            "n (scale factor 2)": {"null": 2, "('m', 2)": [1, 3]},
            "(n)": {"null": 9},
        },
        "k80": {"('m', 2)": {"null": 1, "('n', 2)": [0, 0]}, "('n', 2)": {"('m', 2)": [0, 0]}},
    }
    for name, packed in (("rates.json", False), ("rates.json.gz", True)):
        raw = json.dumps(data).encode()
        (tmp_path / name).write_bytes(gzip.compress(raw) if packed else raw)
        rates = read_rates(tmp_path / name)
        assert set(rates.alone) == {("m", 2), ("n", 2), ("(n)", 1)}
        assert rates.rate("m", 2, "v100") == Fraction("4.25")
        assert rates.rate("n", 2, "k80") == 0
        assert rates.pair("m", "m", 2, "v100") == (3, 3)
        assert rates.pair("n", "m", 2, "v100") == (1, 3)
        assert rates.pair("n", "m", 2, "k80") is None
        assert len(rates.beside) == 5


FAULTS: dict[str, tuple[Any, Any, str]] = {
    "no rates": ({}, None, "alone.json: is empty"),
    "a text": ("m", None, "alone.json: is no list of rates"),
    "both": ({"v100": {"m": {"null": 1}}}, {"columns": COLUMNS, "rows": []}, "give one file"),
    "nested list": ({"v100": []}, None, r"alone.json: \['v100'\]: is no object of rates"),
    "nested pair": (
        {"v100": {"m": {"null": 1, "m": 3}}},
        None,
        r"\['v100'\]\['m'\]\['m'\]: is not \[rate, rate of the other\]",
    ),
    "nested twice": (
        {"v100": {"('m', 1)": {"null": 1}, "m": {"null": 1}}},
        None,
        r"\['v100'\]\['m'\]: 'm' of scale 1 stands twice",
    ),
    "nested rate": (
        {"v100": {"m": {"null": None}}},
        None,
        r"alone.json: \[\('m', 1\)\].v100: .*not a number",
    ),
    "nested orders": (
        {"v100": {"m": {"null": 4, "n": [3, 2]}, "n": {"null": 4, "m": [2, 2]}}},
        None,
        "alone.json: .*keep one of the two orders",
    ),
    "field": ([{"job": "m"}], None, r"alone.json: \[0\]: does not have exactly the fields"),
    "twice": ([*ALONE, ALONE[0]], None, r"\[2\]: \('m', 1\) stands twice"),
    "rate": (
        [ALONE[0] | {"iterations_per_second": {"v100": "x"}}],
        None,
        r"alone.json: \[\('m', 1\)\].v100: \"x\" is not a number",
    ),
    "columns": (ALONE, {"columns": COLUMNS[1:], "rows": []}, "pairs.json.gz: columns: are scale"),
    "no rows": (ALONE, {"columns": COLUMNS}, "pairs.json.gz: has no columns and rows"),
    "short row": (ALONE, {"columns": COLUMNS, "rows": [["v100"]]}, r"rows\[0\]: has not 6 entries"),
    "row twice": (ALONE, {"columns": COLUMNS, "rows": [ROWS[0]] * 2}, r"rows\[1\]: names no pair"),
    "unknown": (
        ALONE,
        {"columns": COLUMNS, "rows": [["v100", 1, "m", "zz", 1, 1]]},
        "pairs.json.gz: .*'zz' has no rates alone",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faulty_files(name: str, tmp_path: Path) -> None:
    """A file of another form is one error that names the file and the place."""
    alone, pairs, said = FAULTS[name]
    paths = write(tmp_path, alone, pairs)
    with pytest.raises(dlsched.InstanceError, match=said):
        read_rates(paths[0], paths[1] if pairs is not None else None)
    with pytest.raises(dlsched.InstanceError, match=r"nowhere.json: cannot be read"):
        read_rates(tmp_path / "nowhere.json")


def test_the_published_files(published: Rates) -> None:
    """Gavel's files have 83 combinations of model and scale, and both orders of every pair."""
    assert len(published.alone) == 83
    assert all((b, a, s, k) in published.beside for a, b, s, k in published.beside)
