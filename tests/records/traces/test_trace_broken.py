"""Broken files of published traces: one error with place and remedy, or a count."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from trace_files import HEAD, HELIOS, OPENB, PAI, SMALL, write

from dlsched import InstanceError
from dlsched.records import read_trace

ROW = "7,u,vcA,4,1,1,FAILED,2020-06-09 18:41:01,2020-06-09 19:00:00,2020-06-09 19:00:09,9,0\n"
TASK = "4f05,tensorflow,1.0,Terminated,1739162.0,1739200.0,600.0,29.296875,50.0,MISC\n"
POD = OPENB + "p0,88000,327680,8,1000,,LS,Succeeded,10,20,12\n"
TIMES = {"start_time": "2017-10-07 01:12:09", "end_time": "2017-10-07 01:13:23"}
JOB = {
    "status": "Pass",
    "vc": "ee9e8c",
    "jobid": "application_1",
    "attempts": [TIMES | {"detail": [{"ip": "m47", "gpus": ["gpu0"]}]}],
    "submitted_time": "2017-10-07 01:11:39",
    "user": "ce2f4c",
}
LOG = json.dumps([JOB], indent=4)


BROKEN: list[tuple[str, str, str | bytes, str, str, str]] = [
    ("helios", "cluster_log.csv", HELIOS, "row 2", "there is no job", "one row per job"),
    ("helios", "x.csv", HELIOS.replace("gpu_num", "n"), "row 1, gpu_num", "no such", "it has: job"),
    ("helios", "x.csv", HELIOS + ROW[:-3] + "\n", "row 2", "has 11 cells", "one cell per column"),
    ("helios", "x.csv", HELIOS + ROW.replace(",4,", ",,"), "row 2, gpu_num", "empty", "fill it in"),
    ("helios", "x.csv", HELIOS + ROW.replace(",4,", ",-4,"), "row 2, gpu_num", "small", "least 0"),
    ("helios", "x.csv", HELIOS + ROW.replace(",4,", ",all,"), "row 2, gpu_num", "number", "finite"),
    ("helios", "x.csv", HELIOS + ROW.replace("7,u", ",u"), "row 2, job_id", "empty", "fill it in"),
    (
        "helios",
        "x.csv",
        HELIOS + ROW.replace("2020-06-09 19:00:09", "noon"),
        "row 2, end_time",
        "noon is not a date",
        "2020-06-09 18:41:01",
    ),
    (
        "auto",
        "x.csv",
        HELIOS + ROW.replace("FAILED", "VERY_BAD"),
        "column state",
        "1 of 1 job have unknown states, as VERY_BAD",
        "there are: COMPLETED",
    ),
    ("auto", "cluster_gpu_number.csv", "date,vcA,total\n", "", "no job trace", "cluster_log.csv"),
    ("auto", "pai_job_table.csv", "a,b,c,Failed,1.0,2.0\n", "", "no job trace", "pai_task_table"),
    ("pai", "x.csv", "a,b,c,Failed,1.0,2.0\n", "row 1", "6 cells, the header has 10", "itself"),
    ("pai", "x.csv", TASK.replace(",50.0", ",-50.0"), "row 1, plan_gpu", "-50 is too", "least 0"),
    ("pai", "x.csv", TASK.replace(",1.0", ",1.5"), "row 1, inst_num", "no number of", "read pai"),
    ("pai", "x.csv", TASK + TASK.replace("17392", "x"), "row 2, end_time", "not a number", "fin"),
    ("openb", "x.csv", POD.replace(",8,", ",2.5,"), "row 2, num_gpu", "2.5 is not a whole", "read"),
    ("openb", "x.csv", POD.replace(",10,", ",,"), "", "1 without a submission", "choose"),
    ("acme", "x.csv", HELIOS.replace("start", "begin"), "row 1, start_time", "no such", "trace_s"),
    ("philly", "x", LOG[:-80], "job 1", "ends in the middle of the list", "download it again"),
    ("philly", "x", LOG[:-1], "job 2", "ends in the middle of the list", "download it again"),
    ("philly", "x", LOG + LOG, "job 2", "comes after the end of the list", "write one list"),
    ("philly", "x", LOG.replace('"vc":', '"vc"'), "job 1", "is not JSON", "correct it there"),
    ("philly", "x", "[1, 2]", "job 1", "is not a JSON object", "cluster_job_log"),
    ("philly", "x", "[]", "", "there is no job", "list a job"),
    ("philly", "x", '{"jobs": []}', "job 1, attempts", "is missing", "cluster_job_log"),
    ("philly", "x", LOG.replace("jobid", "id"), "job 1, jobid", "is missing", "its id"),
    (
        "philly",
        "x",
        LOG.replace('"m47",', '"m47", "gpus": 8,').replace('"gpus": [', '"ids": ['),
        "job 1, attempts[0].detail[0].gpus",
        "is not a list",
        "cluster_job_log",
    ),
    (
        "philly",
        "x",
        LOG.replace("2017-10-07 01:13:23", "later"),
        "job 1, attempts[0].end_time",
        "later is not a date",
        "2017-10-07 01:12:09",
    ),
    ("auto", "cut", gzip.compress(LOG.encode())[:-20], "", "gzip data is damaged", "copy or make"),
    ("auto", "wide", LOG.encode("utf-16"), "", "is not UTF-8", "save it as UTF-8"),
    ("auto", "a.zip", b"PK\x03\x04nothing", "", "the archive is damaged", "copy or make"),
    ("auto", "lfs", "version https://git-lfs.github.com/spec/v1\n", "", "LFS pointer", "lfs pull"),
]

# tables of one's own, read by the mapping SMALL: text, place, problem, remedy
BAD: list[tuple[str, str, str, str]] = [
    ("", "row 1", "has no column names", "begin with a header row"),
    ("\n\n", "row 1", "has no column names", "header"),
    (HEAD, "row 2", "there is no job", "one row per job"),
    ("job,n,at\nx,1,0\n", "row 1, secs", "there is no such column", "it has: job, n, at"),
    ("job,n,at,secs,n\nx,1,0,1,1\n", "row 1, n", "there are two columns of this name", "keep one"),
    (HEAD + "x,1,0\n", "row 2", "has 3 cells, the header has 4", "one cell per column"),
    (HEAD + "x,1,0,1,9\n", "row 2", "has 5 cells", "one cell per column"),
    (HEAD + "x,1,0,1\ny,two,0,1\n", "row 3, n", "two is not a number", "finite decimal"),
    (HEAD + "x,2.0,0,1\n", "row 2, n", "2.0 is not a whole number", "without a point"),
    (HEAD + "x,-1,0,1\n", "row 2, n", "-1 is too small", "at least 0"),
    (HEAD + "x,1,-5,1\n", "row 2, at", "-5 is too small", "at least 0"),
    (HEAD + "x,1,0,-0.5\n", "row 2, secs", "is too small", "at least 0"),
    (HEAD + "x,1,0,nan\n", "row 2, secs", "nan is not a number", "finite decimal"),
    (HEAD + "x,1,0,inf\n", "row 2, secs", "inf is not a number", "finite decimal"),
    (HEAD + "x,1,0,1_000\n", "row 2, secs", "is not a number", "finite decimal"),
    (HEAD + "x,1,0,٣\n", "row 2, secs", "is not a number", "finite decimal"),
    (HEAD + "x,1,0,0x10\n", "row 2, secs", "is not a number", "finite decimal"),
    (HEAD + "x,1,0,1e400\n", "row 2, secs", "1e400 is too large", "within 1e15"),
    (HEAD + "x,1,0,1e-400\n", "row 2, secs", "more digits", "round it"),
    (HEAD + "x,1,0,1e999999999\n", "row 2, secs", "is not a number", "finite decimal"),
    (HEAD + "x,1,0," + "9" * 5000 + "\n", "row 2, secs", "has too many digits", "round it"),
    (HEAD + "x,1,0,2e15\n", "row 2, secs", "is too large", "within 1e15"),
    (HEAD + "x,1,0,0.12345678901234567891\n", "row 2, secs", "more digits", "round it"),
    (HEAD + ",1,0,1\n", "row 2, job", "the cell is empty", "fill it in"),
    (HEAD + "x,,0,1\n", "row 2, n", "the cell is empty", "fill it in"),
    (HEAD + "x,1,0,\n", "row 2, secs", "the cell is empty", "fill it in"),
    (HEAD + "x,1,0,1\n\nx,1,1,1\n", "row 4, job", 'the id "x" is already used in row 2', "own id"),
    (HEAD + 'x,1,0,"1\n', "row 2", "is not CSV", "correct it"),
    (HEAD + "x" * 70000 + ",1,0,1\n", "row 2", "is too long", "one row per job"),
    (" " * 10**6, "row 1", "is too long", "one row per job"),
]


@pytest.mark.parametrize(
    ("layout", "name", "content", "place", "problem", "remedy"),
    [*BROKEN, *((SMALL, "t.csv", *row) for row in BAD)],
)
def test_broken_files_are_refused(
    tmp_path: Path, layout: Any, name: str, content: Any, place: str, problem: str, remedy: str
) -> None:
    """One error names the file, the row or job, the column or key, and what would be right."""
    file = write(tmp_path, name, content)
    with pytest.raises(InstanceError) as caught:
        read_trace(file, layout)
    error = caught.value
    assert (error.where, error.path) == (str(file), place)
    assert problem in error.problem and remedy in error.remedy
    assert len(str(error)) < 500 + len(str(file))


def test_a_wrong_header_file_is_named(tmp_path: Path) -> None:
    """What is wrong with the header is an error about the header file."""
    path = write(tmp_path, "pai_task_table.csv", TASK)
    header = write(tmp_path, "pai_task_table.header", "job_name,task_name,inst_num\n")
    with pytest.raises(InstanceError, match="row 1, status: there is no such column") as caught:
        read_trace(path)
    assert caught.value.where == str(header)
    header.write_text("")
    with pytest.raises(InstanceError, match="row 1, job_name: has no column names; take the"):
        read_trace(path)


def test_a_missing_header_file_is_said(tmp_path: Path) -> None:
    """Archives come without it; the published order is taken, and a header row is skipped."""
    trace = read_trace(write(tmp_path, "pai_task_table.csv", TASK))
    assert any(note.startswith("pai_task_table.header is not beside it") for note in trace.notes)
    own = read_trace(write(tmp_path, "own.csv", PAI + TASK))
    assert own.jobs == trace.jobs


@pytest.mark.parametrize("word", ["", "None", "null", "NaN", "nan", "NaT", "N/A", "Unknown", " "])
def test_words_for_nothing(tmp_path: Path, word: str) -> None:
    """However a missing end is spelled, the job is left out and counted, and the others stay."""
    rows = ROW + ROW.replace("2020-06-09 19:00:09", word).replace("7,u", "8,u")
    trace = read_trace(write(tmp_path, "cluster_log.csv", HELIOS + rows))
    assert [job.id for job in trace.jobs] == ["7"]
    assert trace.notes == ("1 of 2 jobs left out: 1 without an end",)
    jobs = [JOB, JOB | {"jobid": "b", "attempts": [JOB["attempts"][0] | {"end_time": word}]}]  # type: ignore[index]
    trace = read_trace(write(tmp_path, "cluster_job_log", json.dumps(jobs)))
    assert trace.notes == ("1 of 2 jobs left out: 1 still running",)


def test_an_unknown_state_among_others_is_said(tmp_path: Path) -> None:
    """A state that the documentation does not list is no reason to refuse the file."""
    rows = "".join(ROW.replace("7,u", f"{n},u") for n in range(5))
    odd = ROW.replace("FAILED", "OUT_OF_MEMORY")
    path = write(tmp_path, "cluster_log.csv", HELIOS + rows + odd)
    trace = read_trace(path)
    assert len(trace.jobs) == 6
    assert "documentation does not list: OUT_OF_MEMORY (1)" in trace.notes[0]
    assert [job.id for job in read_trace(path, states="OUT_OF_MEMORY").jobs] == ["7"]


def test_repeated_rows_and_repeated_ids(tmp_path: Path) -> None:
    """The same row again is left out; another run of the same id gets an id of its own."""
    longer = ROW.replace("19:00:09", "19:30:00")
    trace = read_trace(write(tmp_path, "cluster_log.csv", HELIOS + ROW + ROW + longer + longer))
    assert [(job.id, job.duration) for job in trace.jobs] == [("7", 9), ("7#2", 1800)]
    assert trace.notes == (
        "2 repeated rows left out",
        "1 more run of an id already used: id#2, id#3, and so on",
    )


def test_layout_does_not_matter(tmp_path: Path) -> None:
    """A byte order mark, CRLF, gzip, blank lines and whole numbers with a point are all fine."""
    plain = read_trace(write(tmp_path, "cluster_log.csv", HELIOS + ROW)).jobs
    text = "\ufeff" + (HELIOS + "\n" + ROW.replace(",4,1,", ",4.0,1.0,")).replace("\n", "\r\n")
    for content in (text, gzip.compress(text.encode())):
        assert read_trace(write(tmp_path, "other.csv", content)).jobs == plain
    log = read_trace(write(tmp_path, "cluster_job_log", LOG)).jobs
    marked = gzip.compress(("\ufeff" + json.dumps([JOB])).encode())
    assert read_trace(write(tmp_path, "marked.json.gz", marked)).jobs == log


def test_long_lists_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the pieces end, the jobs are the same; an object longer than two is refused."""
    jobs = json.dumps([JOB | {"jobid": f"j{n}"} for n in range(9)])
    path = write(tmp_path, "cluster_job_log", jobs)
    whole = read_trace(path).jobs
    for chunk in (400, 401, 1000):
        monkeypatch.setattr("dlsched.records.traces.json_list.CHUNK", chunk)
        assert read_trace(path).jobs == whole
    monkeypatch.setattr("dlsched.records.traces.json_list.CHUNK", 50)
    with pytest.raises(InstanceError, match="job 1: is not JSON"):
        read_trace(path)
