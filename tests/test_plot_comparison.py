"""`dlsched.plot_comparison`: pictures of a table of runs."""

from __future__ import annotations

from functools import cache
from typing import Any

import pandas as pd
import pytest
from matplotlib import pyplot as plt

import dlsched
from plotted import at_width, require_legible

METHODS = ["arc_flow", "milp", "bfd", "bases_first"]

KINDS = ("gaps", "quality", "gap_profile", "profile", "time", "gap_by_size")


@cache
def table() -> pd.DataFrame:
    """Return four methods on six instances of three sizes."""
    instances = [
        dlsched.generate("workers", seed=s, training=n, loan=n) for n in (3, 5, 8) for s in (1, 2)
    ]
    rows = dlsched.compare(instances, METHODS)
    assert rows.groupby("size").size().to_dict() == {6: 8, 10: 8, 16: 8}  # servers
    return rows


def test_gaps_are_those_of_the_table() -> None:
    """A method's points are its gaps in per cent; its label counts the optimal runs."""
    ax = dlsched.plot_comparison(table(), "gaps")
    points = [sorted(line.get_xdata()) for line in ax.lines if line.get_linestyle() == "None"]
    rows = table()
    for name, own in zip(METHODS, points, strict=True):
        gaps = 100 * rows[rows["method"] == name]["gap_to_best"].astype(float)
        assert own == pytest.approx(sorted(gaps))
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[0] == "arc_flow\n6 of 6 optimal"


def test_what_is_optimal_to_nine_digits_is_counted_as_optimal() -> None:
    """Groups' efficiencies are sums of floating-point numbers, beside a solver's bound."""
    instances = [dlsched.generate("interleaving", seed=seed, jobs=16) for seed in range(3)]
    rows = dlsched.compare(instances, ["exact", "muri"])
    exact, muri = (rows[rows["method"] == name] for name in ("exact", "muri"))
    assert exact["gap_to_best"].max() > 0
    assert exact["at_optimum"].tolist() == [True] * 3 and not muri["at_optimum"].any()
    ax = dlsched.plot_comparison(rows, "gaps")
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "exact\n3 of 3 optimal",
        "muri\n0 of 3 optimal",
    ]
    assert not ax.lines[1].get_xdata().any()  # where exact's runs are drawn


def test_a_run_that_differs_at_the_first_level_does_not_choose_it_for_all() -> None:
    """Gaps of other runs at later levels are drawn, unless a level is named."""
    runs = [
        {"placed_gap_to_best": 0.5, "gap_to_best": 0.5, "at_optimum": False},
        {"placed_gap_to_best": 0.0, "gap_to_best": 0.25, "at_optimum": False},
        {"placed_gap_to_best": 0.0, "gap_to_best": 1e-12, "at_optimum": True},
    ]
    same = {"problem": "workers", "method": "bfd", "status": "feasible", "size": 4, "seconds": 1.0}
    rows = pd.DataFrame([same | run for run in runs])
    for level, drawn in ((None, [0, 25, 50]), ("placed", [0, 0, 50])):
        (points,) = (
            line for line in dlsched.plot_comparison(rows, level=level).lines
            if line.get_linestyle() == "None"
        )  # fmt: skip
        assert list(points.get_xdata()) == drawn


def test_profile_counts_only_proofs() -> None:
    """Both exact methods reach 1; the fastest has factor 1 on some instance; others are not in."""
    ax = dlsched.plot_comparison(table(), "profile")
    lines = {line.get_label(): line for line in ax.lines}
    assert set(lines) == {"arc_flow", "milp"}
    assert all(line.get_ydata()[-1] == 1 for line in lines.values())
    assert sum(line.get_ydata()[0] for line in lines.values()) == pytest.approx(1)


def test_time_by_size_has_a_point_for_each_run() -> None:
    """Six points a method, at its sizes and seconds, on the given axes with a legend inside."""
    _, ax = plt.subplots()
    assert dlsched.plot_comparison(table(), "time", ax) is ax and ax.get_legend() is not None
    points = [line for line in ax.lines if line.get_linestyle() == "None"]
    assert [len(line.get_xdata()) for line in points] == [6, 6, 6, 6]
    own = table()[table()["method"] == "milp"]
    assert sorted(points[1].get_ydata()) == pytest.approx(sorted(own["seconds"]))
    assert ax.get_xlabel() == "number of servers" and ax.get_xscale() == "log"


@pytest.mark.parametrize("kind", KINDS)
def test_text_is_legible_in_one_column(kind: str) -> None:
    """At 3.3 inches no text is below 6 points, and legend and labels are inside."""
    require_legible(at_width("single", dlsched.plot_comparison, table(), kind, title="of four"))


def test_errors_name_the_remedy() -> None:
    """Unknown kinds and levels, mixed problems, and tables without data are refused."""
    good = table()
    refused: list[tuple[Any, dict[str, Any], str]] = [
        (
            good,
            {"kind": "pie"},
            "write one of gaps, quality, gap_profile, profile, time, gap_by_size",
        ),
        (good, {"level": "cost"}, "workers has placed, flexible"),
        (good.assign(problem=["elastic"] + ["workers"] * 23), {}, "elastic and workers"),
        (good.iloc[:0], {}, "no rows"),
        (good.drop(columns="status"), {}, "the column 'status'"),
        (good.drop(columns="size"), {"kind": "time"}, "no run has both size and seconds"),
        (
            good[good["method"] == "bfd"],
            {"kind": "profile"},
            "the table has none: give runs of two",
        ),
        (good[good["method"] == "milp"], {"kind": "profile"}, "has only milp: give runs of two"),
        (good.assign(status="feasible"), {"kind": "profile"}, "raise the time limit"),
        (
            good.drop(columns="placed_gap_to_best"),
            {"level": "placed"},
            "no run has a gap of placed: no bound computed; add exact or lp",
        ),
        (good.assign(gap_to_best=None), {}, "no run has a gap: no bound computed; add exact or lp"),
        (good.drop(columns="at_optimum"), {}, "the column 'at_optimum'"),
        ([1, 2], {}, "dlsched.compare"),
    ]
    for given, options, message in refused:
        with pytest.raises(dlsched.OptionError, match=message):
            dlsched.plot_comparison(given, **options)
