"""Wrong columns and units are refused by what their values would mean; real traces are not."""

from pathlib import Path
from typing import Any

import pytest
from record_files import HEAD, HELIOS

from dlsched import InstanceError
from dlsched.records import read_trace, synthesise, write_trace

MAPPING = {"id": "job", "gpus": "n", "submit": "at", "duration": "secs"}
DAY = 86400


def table(folder: Path, rows: list[tuple[Any, ...]]) -> Path:
    """Write a table of jobs: GPUs, submission, duration."""
    path = folder / "t.csv"
    path.write_text(HEAD + "".join(f"j{i},{n},{at},{s}\n" for i, (n, at, s) in enumerate(rows)))
    return path


def many(**columns: Any) -> list[tuple[Any, ...]]:
    """Return 30 jobs, one in an hour, of 1, 2, 4 and 8 GPUs and of 5 to 40 minutes."""
    rows = []
    for i in range(30):
        usual = {"n": 2 ** (i % 4), "at": 3600 * i, "secs": 300 * (1 + 5 * i % 8)}
        rows.append(tuple(columns.get(k, lambda i, u=v: u)(i) for k, v in usual.items()))
    return rows


EPOCH = 1_591_728_061
WRONG: list[tuple[list[tuple[Any, ...]], str, str, str]] = [
    ([(1, EPOCH, EPOCH + 60)], "row 2, secs", "it is the day 2020-06-09", "name start and end"),
    ([(1, 0, 1000 * EPOCH)], "row 2, secs", "as milliseconds since 1970", "name start and end"),
    ([(1, 0, 600_000_000)], "row 2, secs", "are 19 years", "unit 'ms'"),
    ([(1, 1000 * EPOCH, 60)], "row 2, at", "after the year 5000", "unit 'ms'"),
    ([(1, 0, 60), (2, 4 * 365 * DAY, 60)], "column at", "span 4 years", "unit 'ms'"),
    ([(200_000, 0, 60)], "row 2, n", "more than any cluster has", "column of GPUs"),
    (
        many(at=lambda i: 500_000 + 3600 * i, secs=lambda i: 500_000 + 3600 * i + 60 * (i % 7)),
        "column secs",
        "rise with the submissions",
        "start and end",
    ),
    (many(n=lambda i: (25, 50, 100)[i % 3]), "column n", "parts of a GPU", "divide percent by 100"),
    (many(n=lambda i: 1000), "column n", "30 of 30 jobs hold 1000 GPUs", "thousandths by 1000"),
    (
        many(secs=lambda i: (i % 8 + 1) / 1000 * 300),
        "column secs",
        "nine of ten jobs last less",
        "unit 's'",
    ),
]


@pytest.mark.parametrize(("rows", "place", "problem", "remedy"), WRONG)
def test_wrong_columns_are_refused(
    tmp_path: Path, rows: list[tuple[Any, ...]], place: str, problem: str, remedy: str
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
def test_what_traces_do_have_is_read(tmp_path: Path, rows: list[tuple[Any, ...]]) -> None:
    """Long jobs, large jobs, failing jobs and long traces are no errors."""
    assert len(read_trace(table(tmp_path, rows), MAPPING).jobs) == len(rows)


def test_a_random_trace_is_plausible_in_its_own_unit_only(tmp_path: Path) -> None:
    """Milliseconds read as seconds are refused, seconds read as milliseconds too."""
    path = tmp_path / "made.csv"
    write_trace(synthesise(seed=3, jobs=400, days=10, busy_gpus=20), path)
    names = {"id": "job_id", "gpus": "num_gpu", "submit": "submit_time", "duration": "duration"}
    with pytest.raises(InstanceError, match="unit 'ms'"):
        read_trace(path, names)
    text = path.read_text().splitlines()
    seconds = [text[0]]
    for line in text[1:]:
        cells = line.split(",")
        cells[2], cells[6] = (str(float(cells[i]) / 1000) for i in (2, 6))
        seconds.append(",".join(cells))
    path.write_text("\n".join(seconds))
    with pytest.raises(InstanceError, match="nine of ten jobs last less than a minute"):
        read_trace(path, {**names, "submit": "submit_time", "duration": ("duration", "ms")})


def test_an_end_before_the_start_is_refused(tmp_path: Path) -> None:
    """In a file of one's own the first such row is an error, whatever the other rows hold."""
    mapping = {"id": "job", "gpus": "n", "submit": "at", "start": "at", "end": "secs"}
    path = table(tmp_path, [(1, 0, 10), (1, 20, 15)])
    with pytest.raises(InstanceError, match=r"row 3, secs: the job ends 5.0 s before it starts"):
        read_trace(path, mapping)
    path.write_text("job,n,at,secs\nx,1,0,\n")
    with pytest.raises(InstanceError, match="row 2, secs: the cell is empty"):
        read_trace(path, mapping)


ROW = "{},u,vc,1,1,1,FAILED,2020-06-09 18:00:00,2020-06-09 18:00:00,2020-06-09 {}:00,1,0\n"


def published(folder: Path, *rows: str) -> Path:
    """Write a trace in the format of Helios."""
    path = folder / "cluster_log.csv"
    path.write_text(HELIOS + "".join(rows))
    return path


@pytest.mark.parametrize("wrong", [1, 3])
def test_a_few_clocks_set_back_are_counted(tmp_path: Path, wrong: int) -> None:
    """Of 200 published jobs one may end before it starts and is left out; three are an error."""
    ends = ["17:59"] * wrong + ["18:30"] * (200 - wrong)
    path = published(tmp_path, *(ROW.format(i, end) for i, end in enumerate(ends)))
    if wrong == 1:
        assert read_trace(path).notes == ("1 of 200 jobs left out: 1 ending before they start",)
    else:
        with pytest.raises(InstanceError, match=r"row 2, end_time: .* one of 3 in 200 jobs; see"):
            read_trace(path)
        assert len(read_trace(path, plausibility=False).jobs) == 197


def test_published_formats_are_checked_as_well(tmp_path: Path) -> None:
    """A date of the year 2120 makes a job of 100 years, which is refused with its row."""
    row = ROW.format(7, "18:30").replace("2020-06-09 18:30", "2120-06-09 18:30")
    with pytest.raises(InstanceError, match=r"row 2, end_time: .* are 100 years, too long"):
        read_trace(published(tmp_path, row))
