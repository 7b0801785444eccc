"""Lyra's Figure 6 and Tables 3 and 4, to the printed digits."""

from __future__ import annotations

import pytest

import dlsched
from dlsched.problems.elastic import Instance, jct


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


def test_figure_6_items() -> None:
    """A's one item takes 2 GPUs and saves 50 s; B's four save 20, 30, 36 and 40 s."""
    a, b = dlsched.load("lyra-fig6").items
    assert [(i.gpus, i.reduction) for i in a] == [(2, 50)]
    assert [(i.gpus, i.reduction) for i in b] == [(1, 20), (2, 30), (3, 36), (4, 40)]


def test_the_optimum_of_table_4_is_not_shortest_first() -> None:
    """The knapsack gives A its third worker and B the rest: 86 s saved, not 40."""
    best = dlsched.solve("lyra-table4")
    assert (best.solution.workers, tuple(best.objective)) == ({"A": 3, "B": 5}, (2, 86))
    shortest = {"dlsched": 1, "problem": "elastic", "instance": "lyra-table4"}
    report = dlsched.verify("lyra-table4", shortest | {"workers": {"A": 2, "B": 6}})
    assert tuple(report.objective) == (2, 40)


def test_started_jobs_keep_their_base() -> None:
    """When A of (A, B, C) completes, C is not stopped for B, which did not fit before."""
    jobs = [
        {"id": name, "gpus_per_worker": 1, "min_workers": w, "max_workers": w,
         "min_running_time": t}
        for name, w, t in (("A", 4, 10), ("B", 6, 10), ("C", 4, 100))
    ]  # fmt: skip
    times = jct(Instance(name="x", capacity=8, jobs=jobs), ["A", "B", "C"]).times
    assert times == {"A": 10, "C": 100, "B": 110}


def test_a_job_that_never_fits_is_an_error() -> None:
    """A job larger than the cluster has no completion time."""
    job = {"id": "A", "gpus_per_worker": 9, "min_workers": 1, "max_workers": 1,
           "min_running_time": 1}  # fmt: skip
    with pytest.raises(dlsched.OptionError, match="needs more GPUs"):
        jct(Instance(name="x", capacity=8, jobs=[job]))


def test_unknown_rules_are_refused() -> None:
    """A rule is a known name or a permutation of the ids."""
    for rule in ("longest_first", ["A"], ["A", "A"]):
        with pytest.raises(dlsched.OptionError):
            jct(dlsched.load("lyra-table2"), rule)
