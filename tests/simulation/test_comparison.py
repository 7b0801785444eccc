"""Several policies in one table: bounds, gaps, and what a row saves of the first."""

from __future__ import annotations

from typing import Any

import pytest
from simulation_cases import ONE, by_hand

from dlsched.simulation import Cluster, compare_policies, simulate

# One GPU: the long job first ends at 10 and 12, the short one first at 2 and 12.
JOBS = by_hand({"stages": [1, 1, 0]}, {"work": 2, "stages": [0, 1, 1]})


def test_saved_is_of_the_first_row() -> None:
    """The second policy saves 4 of 11 seconds; in the other order it loses 4 of 7."""
    table = compare_policies(JOBS, ONE, ["fifo", "srtf"])
    assert table["mean_jct"].tolist() == [11, 7]
    assert table["saved"].tolist() == [0, pytest.approx(4 / 11)]
    other = compare_policies(JOBS, ONE, ["srtf", "fifo"])
    assert other["saved"].tolist() == [0, pytest.approx(-4 / 7)]
    assert "mean_jct_bound" not in table


def test_bounds_allow_for_sharing_where_a_policy_shares() -> None:
    """The shortest job first meets both bounds, the longest is 4 of 11 above; muri has weaker."""
    table = compare_policies(JOBS, ONE, ["fifo", "srtf", "muri_s"], bounds=True)
    shared = float(simulate(JOBS, ONE, "muri_s").bound(sharing=True).value)
    assert table["mean_jct_bound"].tolist() == pytest.approx([7, 7, shared], abs=1e-5)
    assert table["mean_jct_gap"].tolist()[:2] == pytest.approx([4 / 11, 0], abs=1e-5)
    assert table["makespan_bound"].tolist()[:2] == [12, 12]
    assert table["makespan_gap"].tolist()[:2] == [0, 0]
    assert shared < 6.9 and (table["mean_jct_gap"] >= -1e-9).all()


def test_entries_have_methods_and_options_of_their_own() -> None:
    """A row's own options go before those for all rows."""
    rows: list[Any] = ["synergy", ("synergy", "exact"), ("synergy", "exact", {"order": "srtf"})]
    matrix = {"cpus": [1, 2, 3], "memory": [2], "throughput": [[1], [2], [3]], "share": [2, 2]}
    # FIFO runs the two long jobs first.
    jobs = by_hand(
        *({"work": work, "iterations": work} for work in (900, 900, 300, 300)),
        profile="p", iteration_time=1, head={"matrices": {"p": matrix}},
    )  # fmt: skip
    cluster = Cluster.uniform(1, 2, cpus=4, memory=4)
    table = compare_policies(jobs, cluster, rows, order="fifo", bounds=True)
    assert table["method"].fillna("default").tolist() == ["default", "exact", "exact"]
    assert table["mean_jct"][2] < table["mean_jct"][1]
    assert (table["mean_jct_bound"] <= table["mean_jct"]).all()
