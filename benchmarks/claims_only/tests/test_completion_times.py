"""Lyra's Tables 3 and 4 to the printed digits, and completion times worked out by hand."""

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
    second = jct(dlsched.load("lyra-table4"), ["B", "A"]).times
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
        jct(epoch(8, job("A", 1, 1, 1, 9)), ["A"])
