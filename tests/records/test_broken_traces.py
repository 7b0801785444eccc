"""Broken files of published traces: one error with place and remedy, or a count."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from record_files import HEAD, HELIOS, HELIOS_ROW, OPENB, SMALL, write

from dlsched import InstanceError
from dlsched.records import read_trace

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
FIRST = "job 1, attempts[0]"
GPUS = f"{FIRST}.detail[0].gpus"


def helios(old: str, new: str) -> str:
    """Return a log of one job with a piece of its row replaced."""
    assert HELIOS_ROW.count(old) == 1
    return HELIOS + HELIOS_ROW.replace(old, new)


PACKED = gzip.compress((HEAD + "x,1,0,1\n").encode())
BROKEN: list[tuple[Any, str, str | bytes, str, str, str]] = [
    ("helios", "cluster_log.csv", HELIOS, "row 2", "there is no job", "one row per job"),
    ("helios", "x.csv", HELIOS.replace("gpu_num", "n"), "row 1, gpu_num", "no such", "it has: job"),
    (
        "helios",
        "x.csv",
        HELIOS + HELIOS_ROW[:-3] + "\n",
        "row 2",
        "has 11 cells",
        "one cell per column",
    ),
    ("helios", "x.csv", helios(",4,", ",,"), "row 2, gpu_num", "empty", "fill it in"),
    ("helios", "x.csv", helios(",4,", ",-4,"), "row 2, gpu_num", "small", "least 0"),
    ("helios", "x.csv", helios(",4,", ",all,"), "row 2, gpu_num", "number", "finite"),
    ("helios", "x.csv", helios("7,u", ",u"), "row 2, job_id", "empty", "fill it in"),
    ("helios", "x.csv", helios("19:00:09", "x"), "row 2, end_time", "is not a date", "2020-06-09"),
    ("auto", "x.csv", helios("FAILED", "BAD"), "column state", "unknown states, as BAD", "there a"),
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
        LOG.replace('gpus": [', 'gpus": 8, "": ['),
        GPUS,
        "is not a list",
        "cluster_job_log",
    ),
    ("philly", "x", LOG.replace("01:13:23", "noon"), f"{FIRST}.end_time", "not a date", "2017-10"),
    ("auto", "cut", gzip.compress(LOG.encode())[:-20], "", "gzip data is damaged", "copy or make"),
    ("auto", "wide", LOG.encode("utf-16"), "", "is not UTF-8", "save it as UTF-8"),
    ("auto", "a.zip", b"PK\x03\x04nothing", "", "the archive is damaged", "copy or make"),
    (SMALL, "t.csv", PACKED[:-20], "", "the gzip data is damaged", "copy or make"),
    (SMALL, "t.csv", b"\x1f\x8bnonsense", "", "the gzip data is damaged", "copy or make"),
    (SMALL, "t.csv", HEAD.encode() + b"\xe9,1,0,1\n", "", "is not UTF-8", "save it as UTF-8"),
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
    *(
        (f"{HEAD}x,1,0,{text}\n", "row 2, secs", problem, remedy)
        for text, problem, remedy in [
            ("-0.5", "is too small", "at least 0"),
            ("nan", "nan is not a number", "finite decimal"),
            ("inf", "inf is not a number", "finite decimal"),
            ("1_000", "is not a number", "finite decimal"),
            ("٣", "is not a number", "finite decimal"),
            ("0x10", "is not a number", "finite decimal"),
            ("1e400", "1e400 is too large", "within 1e15"),
            ("1e-400", "more digits", "round it"),
            ("1e999999999", "is not a number", "finite decimal"),
            ("9" * 5000, "has too many digits", "round it"),
            ("2e15", "is too large", "within 1e15"),
            ("0.12345678901234567891", "more digits", "round it"),
            ("", "the cell is empty", "fill it in"),
        ]
    ),
    (HEAD + ",1,0,1\n", "row 2, job", "the cell is empty", "fill it in"),
    (HEAD + "x,,0,1\n", "row 2, n", "the cell is empty", "fill it in"),
    (HEAD + "x,1,0,1\n\nx,1,1,1\n", "row 4, job", 'the id "x" is already used in row 2', "own id"),
    (HEAD + 'x,1,0,"1\n', "row 2", "is not CSV", "correct it"),
    (HEAD + "x" * 70000 + ",1,0,1\n", "row 2", "is too long", "one row per job"),
    (" " * 10**6, "row 1", "is too long", "one row per job"),
]


@pytest.mark.parametrize("case", [*BROKEN, *((SMALL, "t.csv", *row) for row in BAD)])
def test_broken_files_are_refused(case: Any, tmp_path: Path) -> None:
    """One error names the file, the row or job, the column or key, and what would be right."""
    layout, name, content, place, problem, remedy = case
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
    for header, problem in (
        ("job_name,task_name,inst_num\n", "row 1, status: there is no such column"),
        ("", "row 1, job_name: has no column names; take the"),
    ):
        beside = write(tmp_path, "pai_task_table.header", header)
        with pytest.raises(InstanceError, match=problem) as caught:
            read_trace(path)
        assert caught.value.where == str(beside)


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
