"""Published traces as they are: what a job is in each, which are taken, and what is said."""

import gzip
import json
import logging
import tarfile
from pathlib import Path
from typing import Any

import pytest
from record_files import ACME, HELIOS, OPENB, PAI, SMALL, write
from record_files import HELIOS_ROW as ROW

from dlsched import DlschedError
from dlsched.records import Trace, read_trace, write_trace


def essence(trace: Trace) -> list[tuple[str, int, Any, Any]]:
    """Return the jobs as (id, GPUs, seconds after the first submission, duration)."""
    return [(j.id, j.gpus, j.submit - trace.first, j.duration) for j in trace.jobs]


def attempt(start: str | None, end: str | None, *servers: int) -> dict[str, Any]:
    """Return an attempt of a Philly job on the fourth of March 2031, with GPUs per server."""
    detail = [{"ip": f"m{i}", "gpus": [f"gpu{g}" for g in range(n)]} for i, n in enumerate(servers)]
    dates = [f"2031-03-04 {time}" if time and ":" in time else time for time in (start, end)]
    return {"start_time": dates[0], "end_time": dates[1], "detail": detail}


def philly(*jobs: list[dict[str, Any]]) -> str:
    """Return a job log with a job for each list of attempts: j0, j1 and so on."""
    listed = [
        {"status": "Pass" if i % 2 else "Killed", "vc": f"vc{i}", "jobid": f"j{i}", "user": "u",
         "attempts": attempts, "submitted_time": f"2031-03-04 08:00:0{i}"}
        for i, attempts in enumerate(jobs)
    ]  # fmt: skip
    return json.dumps(listed)


WHOLE = attempt("09:00:00", "09:10:00", 1)
TWO = philly(
    [attempt("09:00:00", "09:10:00", 8, 2), attempt("10:00:00", "10:30:00", 8)],
    [attempt("08:05:00", "08:05:30", 1)],
)
PARTS = philly(
    [attempt(None, "08:10:00", 1), attempt("08:20:00", "08:21:00", 1)],
    [],
    [attempt("08:10:00", "08:20:00", 1), attempt("08:30:00", "None", 1)],
    [attempt("08:10:00", "08:20:00")],
    [attempt("", "08:20:00", 1)],
)
PART_LINES = "\n".join(map(json.dumps, json.loads(PARTS)))
NO_DURATION = "4 of 5 jobs left out: 1 never started, 1 still running, 1 without recorded GPUs, 1"
TASKS = (
    "one,worker,2.0,Terminated,1100.0,1700.0,600.0,29.3,100.0,V100\n"
    "one,ps,4.0,Terminated,1000.0,2000.0,400.0,7.5,,\n"
    "one,evaluator,1.0,Failed,1200.0,1800.0,400.0,7.5,200.0,V100\n"
    "two,tensorflow,5.0,Terminated,1500.0,1560.0,600.0,29.3,25.0,T4\n"
    "three,ps,1.0,Waiting,,,600.0,29.3,,\n"
    "four,worker,1.0,Running,1600.0,,600.0,29.3,50.0,MISC\n"
)
TURNED = "".join(",".join(reversed(row.split(","))) + "\n" for row in TASKS.splitlines())
HELIOS_LOG = HELIOS + (
    "7,u,vcA,16,64,2,COMPLETED,2020-06-09 18:41:01,2020-06-09 19:00:00,2020-06-10 19:00:01,1,\n"
    "8,u,vcB,0,1,1,FAILED,2020-06-09 18:41:02,2020-06-09 18:41:02,2020-06-09 18:41:02,,0\n"
)
KALOS = ACME + (
    "a,u,8,64,960,1000,100.0,Other,FAILED,2023-05-17 11:00:58+00:00,2023-05-17 11:01:08+00:00,"
    "2023-05-17 11:01:16+00:00,2023-05-17 11:01:16+00:00,,18,10.0,1152.0\n"
    "b,u,1,8,960,1000,100.0,Other,CANCELLED,2023-05-17 19:01:00+08:00,"
    "2023-05-17 11:01:01+00:00,2023-05-17 11:01:31.5+00:00,,,31,1.0,9\n"
    "c,u,1,8,960,1000,100.0,Eval,RUNNING,2023-05-17 19:01:00+08:00,"
    "2023-05-17 11:01:01+00:00,,,,,1.0,\n"
)
PODS = OPENB + (
    "p0,88000,327680,8,1000,,Burstable,Succeeded,9437497,10769854,9437500\n"
    "p1,6000,12288,1,460,,LS,Running,9437498,9437598,9437498\n"
    "p2,11908,47104,1,1000,V100M16|V100M32,BE,Pending,9437499,9437500,\n"
    "p3,6000,12288,0,0,,LS,Failed,9437500,9437501,9437500\n"
)
LOG, PAI_LOG = "cluster_job_log", "pai_task_table.csv"
PAI_FILES = {PAI_LOG: TASKS, "pai_task_table.header": PAI}
PAI_TURNED = {PAI_LOG: TURNED, "pai_task_table.header": ",".join(reversed(PAI.strip().split(",")))}
WITH_JOBS = PAI_FILES | {
    "pai_job_table.csv": "one,i1,u,Terminated,900.0,2000.0\ntwo,i2,u,Failed,950.0,1560.0\n"
}
HELIOS_FILE, POD_FILE = {"cluster_log.csv": HELIOS_LOG}, {"openb_pod_list_default.csv": PODS}
OF_VCS = {"states": "Pass", "clusters": ["vc1", "vc2"]}
NOTHING = ["", "None", "null", "NaN", "nan", "NaT", "N/A", "Unknown", " "]
NO_END, RUNNING = (f"1 of 2 jobs left out: 1 {why}" for why in ("without an end", "still running"))
LONGER, ODD = ROW.replace("19:00:09", "19:30:00"), ROW.replace("FAILED", "ODD").replace("7", "8", 1)
LAYOUT = "\ufeff" + (HELIOS + "\n" + ROW.replace(",4,1,", ",4.0,1.0,")).replace("\n", "\r\n")
OWN = '\ufeffsecs, n,"job",at,more\r\n\r\n 1 ,"2",x, 3 ,whatever\r\n,,,,\r\n'


def without_end(word: str) -> str:
    """Return a row of Helios whose end is a word."""
    return ROW.replace("2020-06-09 19:00:09", word).replace("7", "8", 1)


# Files, of which the first is read, and options; jobs as in `essence`; how the notes begin.
READ: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    # The time of all attempts is that of the first one's GPUs.
    ({LOG: TWO}, {}, "j0 10 0 2400, j1 1 1 30", "1 job had attempts with different numbers of GPU"),
    ({LOG: PARTS}, {}, "j0 1 0 60", f"{NO_DURATION}|1 job had attempts without a start or an end"),
    ({"lines": PART_LINES}, {}, "j0 1 0 60", f"{NO_DURATION}|1 job had attempts without"),
    # The end minus the start counts, whatever the column of durations says.
    (HELIOS_FILE, {}, "7 16 0 86401, 8 0 1 0", ""),
    (HELIOS_FILE, {"min_gpus": 1}, "7 16 0 86401", "1 of 2 jobs left out: 1 without GPUs"),
    # Kalos' own durations count from the submission; zones are respected.
    ({"trace_kalos.csv": KALOS}, {}, "a 64 0 8, b 8 2 61/2", "1 of 3 jobs left out: 1 without an"),
    # 2 x 1 + 1 x 2 GPUs from the first to the last of the tasks that have any; 5 x 25 percent.
    (PAI_FILES, {}, "one 4 0 700, two 5 400 60", "2 of 4 jobs left out: 1 without a start, 1 |1|"),
    (PAI_FILES, {"fractional": "total"}, "one 4 0 700, two 2 400 60", "2 of 4|1 job with a frac|"),
    (PAI_FILES, {"fractional": "drop"}, "one 4 0 700", "3 of 4 jobs left out: 1 asking for a fr|"),
    (PAI_FILES, {"states": "Failed"}, "one 4 0 700", "1 of 4|pai_job_table.csv is not beside it"),
    (PAI_FILES, {"clusters": "T4"}, "two 5 0 60", "1 of 4|1 job with a fraction|"),
    (PAI_TURNED, {"format": "pai"}, "one 4 0 700, two 5 400 60", "2 of 4|1 job|"),
    # If the table of jobs is there, its start is the submission and its status the job's.
    (WITH_JOBS, {}, "one 4 0 700, two 5 50 60", "2 of 4|1 job|pai_job_table.header is not beside"),
    (WITH_JOBS, {"states": "Failed"}, "two 5 0 60", "1 of 4|1 job|pai_job_table.header is not"),
    (WITH_JOBS, {"states": "Terminated"}, "one 4 0 700", "1 of 4|pai_job_table.header is not"),
    # A pod lasts from scheduling to deletion; 0.46 GPUs are one.
    (POD_FILE, {}, "p0 8 0 1332354, p1 1 1 100, p3 0 3 1", "1 of 4 jobs left out: 1 never s|1 jo"),
    (POD_FILE, {"fractional": "drop", "states": ["Running", "Succeeded"]}, "p0 8 0 1332354", "2|1"),
    ({LOG: philly(*[[WHOLE]] * 4)}, OF_VCS, "j1 1 0 600", "1 of 4 jobs chosen by state or cluster"),
    # Archives come without the header files: the published order is taken; a header row is skipped.
    ({PAI_LOG: TASKS}, {}, "one 4 0 700, two 5 400 60", "2 of|1 job||pai_task_table.header is no"),
    ({"own": PAI + TASKS}, {}, "one 4 0 700, two 5 400 60", "2 of|1 job||"),
    # However a missing end is spelled, the job is left out and counted.
    *(({"x": HELIOS + ROW + without_end(w)}, {}, "7 4 0 9", NO_END) for w in NOTHING),
    *(
        ({LOG: philly([WHOLE], [attempt("09:03:00", w, 1)])}, {}, "j0 1 0 600", RUNNING)
        for w in NOTHING
    ),
    # The same row again is left out; another run of the same id gets an id of its own.
    ({"x": HELIOS + 2 * ROW + 2 * LONGER}, {}, "7 4 0 9, 7#2 4 0 1800", "2 repeated rows left|1 m"),
    # A state that the documentation does not list is no reason to refuse the file.
    ({"x": HELIOS + ROW + ODD}, {"states": "ODD"}, "8 4 0 9", "1 of 2|states that the trace's doc"),
    # A byte order mark, CRLF, gzip, blank lines, whole numbers with a point are all fine.
    ({"x": LAYOUT}, {}, "7 4 0 9", ""),
    ({"x": gzip.compress(LAYOUT.encode())}, {}, "7 4 0 9", ""),
    ({"x": gzip.compress(f"\ufeff{TWO}".encode())}, {}, "j0 10 0 2400, j1 1 1 30", "1 job had att"),
    ({"x": OWN}, {"columns": SMALL}, "x 2 0 1", ""),
]


@pytest.mark.parametrize("case", READ)
def test_what_a_job_is(case: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Each format's jobs and notes, which are logged once as warnings with the file's name."""
    files, options, jobs, notes = case
    path, *_ = [write(tmp_path, name, content) for name, content in files.items()]
    with caplog.at_level(logging.WARNING, "dlsched"):
        trace = read_trace(path, **options)
    assert ", ".join(" ".join(map(str, job)) for job in essence(trace)) == jobs
    said = notes.split("|") if notes else []
    assert len(trace.notes) == len(said), trace.notes
    assert all(map(str.startswith, trace.notes, said)), trace.notes
    assert [r.getMessage() for r in caplog.records] == [f"{path}: {note}" for note in trace.notes]


ONE_JOB = philly([WHOLE])


def test_archives_and_folders_are_looked_into(tmp_path: Path) -> None:
    """A trace is found in the archive or the folder that it is published in."""
    folder = tmp_path / "trace-data"
    folder.mkdir()
    expected = essence(read_trace(write(folder, LOG, ONE_JOB)))
    write(folder, "cluster_machine_list", "machineId,number of GPUs,single GPU mem\nm31,8, 24GB\n")
    with tarfile.open(tmp_path / "trace-data.tar.gz", "w:gz") as archive:
        archive.add(folder, "trace-data")
    assert essence(read_trace(tmp_path / "trace-data.tar.gz")) == expected
    assert essence(read_trace(folder)) == expected
    with pytest.raises(DlschedError, match="is a folder; name the file: cluster_job_log"):
        read_trace(tmp_path)
    write(folder, "trace_kalos.csv", ACME)
    with pytest.raises(DlschedError, match="is a folder with 2 traces: cluster_job_log, trace_k"):
        read_trace(folder)
    assert essence(read_trace(folder, "philly")) == expected


def test_what_was_chosen_can_be_kept(workdir: Path) -> None:
    """The source makes the trace again, and writing keeps it; a file goes before a sample's name.

    A mapping may name columns of states and clusters; two entries of a server are one.
    """
    path = write(workdir, LOG, philly(*[[WHOLE]] * 4))
    assert read_trace(path, states="Pass", clusters=["vc1", "vc2"]).source == (
        "read_trace('cluster_job_log', 'philly', states='Pass', clusters=['vc1', 'vc2'])"
    )
    chosen = read_trace("sample-pai", states="Terminated", fractional="total")
    write_trace(chosen, workdir / "chosen.csv.gz")
    assert read_trace(workdir / "chosen.csv.gz").jobs == chosen.jobs
    names = {"id": "j", "gpus": "n", "submit": "at", "start": "from", "end": "to"}
    path = write(workdir, "t.csv", "j,n,at,from,to,how,at2\na,1,0,1,9,ok,x\nb,2,1,2,5,ko,x\n")
    assert essence(read_trace(path, names)) == [("a", 1, 0, 8), ("b", 2, 1, 3)]
    mapping: Any = names | {"state": "how", "cluster": "at2"}
    assert [j.id for j in read_trace(path, mapping, states="ko", clusters="x").jobs] == ["b"]
    write(workdir, "sample-philly", OPENB + "p,1,1,1,1000,,LS,Failed,0,9,1\n")
    assert essence(read_trace("sample-philly")) == [("p", 1, 0, 8)]
    twice = attempt("09:00:00", "09:10:00", 4, 2)
    twice["detail"].append({"ip": "m0", "gpus": ["gpu6"]})
    (job,) = read_trace(write(workdir, LOG, philly([twice]))).jobs
    assert (job.gpus, job.nodes) == (7, (("m0", 5), ("m1", 2)))
