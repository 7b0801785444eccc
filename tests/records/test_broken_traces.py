"""Broken and implausible files of traces: one error with place and remedy, or a count."""

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from record_files import HEAD, HELIOS, HELIOS_ROW, OPENB, SMALL, write

from dlsched import InstanceError
from dlsched.records import read_trace
from refused_calls import assert_refused, reports

TASK = "4f05,tensorflow,1.0,Terminated,1739162.0,1739200.0,600.0,29.296875,50.0,MISC\n"
POD = OPENB + "p0,88000,327680,8,1000,,LS,Succeeded,10,20,12\n"
ATTEMPT = {
    "start_time": "2017-10-07 01:12:09",
    "end_time": "2017-10-07 01:13:23",
    "detail": [{"ip": "m47", "gpus": ["gpu0"]}],
}
JOB = {"status": "Pass", "vc": "ee9e8c", "jobid": "application_1", "user": "ce2f4c"}
JOB |= {"submitted_time": "2017-10-07 01:11:39", "attempts": [ATTEMPT]}
LOG = json.dumps([JOB], indent=4)


PACKED = gzip.compress((HEAD + "x,1,0,1\n").encode())
ROWS = HELIOS + HELIOS_ROW
OWN_ENDS = {"id": "job", "gpus": "n", "submit": "at", "start": "at", "end": "secs"}
STAGES = "job,n,at,secs,io,gpu\n"
STAGED = SMALL | {"stages": ["io", "gpu"]}


REFUSED = reports(Path(__file__).with_name("broken_traces.txt"))


def broken(layout: Any, name: str, content: str | bytes) -> object:
    """Read a file of this name, format or mapping, and content."""
    return read_trace(write(Path(), name, content), layout)


def small(text: str) -> object:
    """Read a table of one's own."""
    return broken(SMALL, "t.csv", text)


@pytest.mark.parametrize("call", REFUSED)
def test_broken_files_are_refused(call: str, workdir: Path) -> None:
    """One error names the file, the row or job, the column or key, and what would be right."""
    assert_refused(call, REFUSED[call], globals())


def test_a_list_longer_than_what_is_read_at_a_time(tmp_path: Path) -> None:
    """Wherever a piece ends, the jobs are whole; an object of megabytes is refused."""
    jobs = [JOB | {"jobid": f"j{n}", "user": "u" * (n % 997)} for n in range(3000)]
    path = write(tmp_path, "cluster_job_log", json.dumps(jobs))
    assert path.stat().st_size > 2**21
    assert [(job.id, job.duration) for job in read_trace(path).jobs] == [
        (f"j{n}", 74) for n in range(3000)
    ]
    path.write_text(json.dumps([JOB | {"user": "u" * 2**22}]))
    with pytest.raises(InstanceError, match="job 1: is not JSON"):
        read_trace(path, "philly")


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
    (many(secs=lambda i: 0.3 * (i % 8)), "column secs", "nine of ten jobs last less", "unit 's'"),
]


RIGHT = {  # long jobs, large jobs, failing jobs and long traces are no errors
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


PLAUSIBLE = [*WRONG, *((rows, "", "", "") for rows in RIGHT.values())]


@pytest.mark.parametrize(("rows", "place", "problem", "remedy"), PLAUSIBLE)
def test_implausible_columns_are_refused(
    tmp_path: Path, rows: Rows, place: str, problem: str, remedy: str
) -> None:
    """One error names the file, the column and the remedy, and how to insist; others are read."""
    path = table(tmp_path, rows)
    if place:
        with pytest.raises(InstanceError) as caught:
            read_trace(path, MAPPING)
        error = caught.value
        assert (error.where, error.path) == (str(path), place)
        assert problem in error.problem and remedy in error.remedy
        assert "if it is right, pass plausibility=False (--no-plausibility)" in error.remedy
    assert len(read_trace(path, MAPPING, plausibility=not place).jobs) == len(rows)


def test_published_formats_are_checked_as_well(tmp_path: Path) -> None:
    """Of 200 jobs one may end before it starts and is left out; three, and 100 years, are not."""

    def published(bad: int, end: str = "2020-06-09 17:59") -> Path:
        row = "{},u,vc,1,1,1,FAILED,2020-06-09 18:00:00,2020-06-09 18:00:00,{}:00,1,0\n"
        ends = [end] * bad + ["2020-06-09 18:30"] * (200 - bad)
        rows = (row.format(i, end) for i, end in enumerate(ends))
        return write(tmp_path, "cluster_log.csv", HELIOS + "".join(rows))

    notes = read_trace(published(1)).notes
    assert notes == ("1 of 200 jobs left out: 1 ending before they start",)
    with pytest.raises(InstanceError, match=r"row 2, end_time: .* one of 3 in 200 jobs; see"):
        read_trace(published(3))
    assert len(read_trace(published(3), plausibility=False).jobs) == 197
    with pytest.raises(InstanceError, match=r"row 2, end_time: .* are 100 years, too long"):
        read_trace(published(1, "2120-06-09 18:30"))


def test_a_wrong_header_file_is_named(tmp_path: Path) -> None:
    """What is wrong with the header is an error about the header file."""
    path = write(tmp_path, "pai_task_table.csv", TASK)
    beside = write(tmp_path, "pai_task_table.header", "job_name,task_name,inst_num\n")
    with pytest.raises(InstanceError, match="row 1, status: there is no such column") as caught:
        read_trace(path)
    assert caught.value.where == str(beside)
