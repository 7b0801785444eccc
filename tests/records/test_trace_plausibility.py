"""Wrong columns and units are refused by what their values would mean; real traces are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from record_files import HEAD, HELIOS, write

from dlsched import InstanceError
from dlsched.records import read_trace, synthesise, write_trace

MAPPING = {"id": "job", "gpus": "n", "submit": "at", "duration": "secs"}
DAY, EPOCH = 86400, 1_591_728_061
Rows = Sequence[tuple[float, float, float]]
Column = Callable[[int], float]


def table(folder: Path, rows: Rows) -> Path:
    """Write a table of jobs: GPUs, submission, duration."""
    lines = "".join(f"j{i},{n},{at},{secs}\n" for i, (n, at, secs) in enumerate(rows))
    return write(folder, "t.csv", HEAD + lines)


def many(
    n: Column = lambda i: 2 ** (i % 4),
    at: Column = lambda i: 3600 * i,
    secs: Column = lambda i: 300 * (1 + 5 * i % 8),
) -> Rows:
    """Return 30 jobs, one in an hour, of 1, 2, 4 and 8 GPUs and of 5 to 40 minutes."""
    return [(n(i), at(i), secs(i)) for i in range(30)]


ENDS = many(at=lambda i: 5e5 + 3600 * i, secs=lambda i: 5e5 + 3600 * i + 60 * (i % 7))
WRONG: list[tuple[Rows, str, str, str]] = [
    ([(1, EPOCH, EPOCH + 60)], "row 2, secs", "it is the day 2020-06-09", "name start and end"),
    ([(1, 0, 1000 * EPOCH)], "row 2, secs", "as milliseconds since 1970", "name start and end"),
    ([(1, 0, 600_000_000)], "row 2, secs", "are 19 years", "unit 'ms'"),
    ([(1, 1000 * EPOCH, 60)], "row 2, at", "after the year 5000", "unit 'ms'"),
    ([(1, 0, 60), (2, 4 * 365 * DAY, 60)], "column at", "span 4 years", "unit 'ms'"),
    ([(200_000, 0, 60)], "row 2, n", "more than any cluster has", "column of GPUs"),
    (ENDS, "column secs", "rise with the submissions", "start and end"),
    (many(n=lambda i: 25 * 2 ** (i % 3)), "column n", "parts of a GPU", "divide percent by 100"),
    (many(n=lambda i: 1000), "column n", "30 of 30 jobs hold 1000 GPUs", "thousandths by 1000"),
    (
        many(secs=lambda i: (i % 8 + 1) * 0.3),
        "column secs",
        "nine of ten jobs last less",
        "unit 's'",
    ),
]


@pytest.mark.parametrize(("rows", "place", "problem", "remedy"), WRONG)
def test_wrong_columns_are_refused(
    tmp_path: Path, rows: Rows, place: str, problem: str, remedy: str
) -> None:
    """One error names the file, the column and the remedy, and how to insist."""
    path = table(tmp_path, rows)
    with pytest.raises(InstanceError) as caught:
        read_trace(path, MAPPING)
    error = caught.value
    assert (error.where, error.path) == (str(path), place)
    assert problem in error.problem and remedy in error.remedy
    assert "if it is right, pass plausibility=False (--no-plausibility)" in error.remedy
    assert len(read_trace(path, MAPPING, plausibility=False).jobs) == len(rows)


RIGHT = {
    "as it should be": many(),
    "a job of five months": many(secs=lambda i: 150 * DAY if i == 3 else 600),
    "pretraining on 16,384 GPUs": many(n=lambda i: 16384 if i == 3 else 8),
    "all jobs of two weeks": many(secs=lambda i: 14 * DAY + i),
    "most jobs fail at once": many(secs=lambda i: 0 if i % 5 else 3600),
    "dates since 1970": many(at=lambda i: EPOCH + 3600 * i),
    "a few jobs of 100 GPUs": many(n=lambda i: 100 if i % 3 == 0 else 8),
    "all submitted at once": many(at=lambda i: 0),
    "longer and longer jobs": many(secs=lambda i: 60 * i),
    "a year and a half of submissions": many(at=lambda i: 18 * DAY * i),
}


@pytest.mark.parametrize("rows", RIGHT.values(), ids=RIGHT)
def test_what_traces_do_have_is_read(tmp_path: Path, rows: Rows) -> None:
    """Long jobs, large jobs, failing jobs and long traces are no errors."""
    assert len(read_trace(table(tmp_path, rows), MAPPING).jobs) == len(rows)


def test_a_random_trace_is_plausible_in_its_own_unit_only(tmp_path: Path) -> None:
    """Milliseconds read as seconds are refused, seconds read as milliseconds too."""
    made = synthesise(seed=3, jobs=400, days=10, busy_gpus=20)
    write_trace(made, tmp_path / "made.csv")
    names = {"id": "job_id", "gpus": "num_gpu", "submit": "submit_time", "duration": "duration"}
    with pytest.raises(InstanceError, match="unit 'ms'"):
        read_trace(tmp_path / "made.csv", names)
    seconds = table(tmp_path, [(j.gpus, float(j.submit), float(j.duration)) for j in made.jobs])
    milliseconds: Any = MAPPING | {"duration": ("secs", "ms")}
    with pytest.raises(InstanceError, match="nine of ten jobs last less than a minute"):
        read_trace(seconds, milliseconds)


def test_an_end_before_the_start_is_refused(tmp_path: Path) -> None:
    """In a file of one's own the first such row is an error, whatever the other rows hold."""
    mapping = {"id": "job", "gpus": "n", "submit": "at", "start": "at", "end": "secs"}
    for rows, said in (
        ("x,1,0,10\ny,1,20,15\n", r"row 3, secs: the job ends 5.0 s before it starts"),
        ("x,1,0,\n", "row 2, secs: the cell is empty"),
    ):
        with pytest.raises(InstanceError, match=said):
            read_trace(write(tmp_path, "t.csv", HEAD + rows), mapping)


ROW = "{},u,vc,1,1,1,FAILED,2020-06-09 18:00:00,2020-06-09 18:00:00,{}:00,1,0\n"


def published(folder: Path, *ends: str) -> Path:
    """Write jobs in the format of Helios that start at six and have these ends."""
    rows = (ROW.format(i, end) for i, end in enumerate(ends))
    return write(folder, "cluster_log.csv", HELIOS + "".join(rows))


def test_published_formats_are_checked_as_well(tmp_path: Path) -> None:
    """Of 200 jobs one may end before it starts and is left out; three, and 100 years, are not."""
    good, bad = "2020-06-09 18:30", "2020-06-09 17:59"
    notes = read_trace(published(tmp_path, bad, *[good] * 199)).notes
    assert notes == ("1 of 200 jobs left out: 1 ending before they start",)
    path = published(tmp_path, *[bad] * 3, *[good] * 197)
    with pytest.raises(InstanceError, match=r"row 2, end_time: .* one of 3 in 200 jobs; see"):
        read_trace(path)
    assert len(read_trace(path, plausibility=False).jobs) == 197
    with pytest.raises(InstanceError, match=r"row 2, end_time: .* are 100 years, too long"):
        read_trace(published(tmp_path, "2120-06-09 18:30"))
