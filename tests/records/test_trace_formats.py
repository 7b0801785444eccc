"""Published traces as they are: what a job is in each, which are taken, and what is said."""

import json
import logging
import tarfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from record_files import ACME, HELIOS, OPENB, PAI, write

from dlsched import InstanceError, OptionError, UnknownName
from dlsched.records import Trace, read_trace, write_trace


def essence(trace: Trace) -> list[tuple[str, int, Any, Any]]:
    """Return the jobs as (id, GPUs, seconds after the first submission, duration)."""
    return [(j.id, j.gpus, j.submit - trace.first, j.duration) for j in trace.jobs]


def attempt(start: str | None, end: str | None, *servers: int) -> dict[str, Any]:
    """Return an attempt of a Philly job on the fourth of March 2031, with GPUs per server."""
    detail = [{"ip": f"m{i}", "gpus": [f"gpu{g}" for g in range(n)]} for i, n in enumerate(servers)]
    dates = [f"2031-03-04 {time}" if time and ":" in time else time for time in (start, end)]
    return {"start_time": dates[0], "end_time": dates[1], "detail": detail}


def philly(folder: Path, *jobs: list[dict[str, Any]]) -> Path:
    """Write a job log with a job for each list of attempts: j0, j1 and so on."""
    listed = [
        {"status": "Pass" if i % 2 else "Killed", "vc": f"vc{i}", "jobid": f"j{i}", "user": "u",
         "attempts": attempts, "submitted_time": f"2031-03-04 08:00:0{i}"}
        for i, attempts in enumerate(jobs)
    ]  # fmt: skip
    return write(folder, "cluster_job_log", json.dumps(listed))


WHOLE = attempt("09:00:00", "09:10:00", 1)


def test_philly_counts_the_time_of_all_attempts(tmp_path: Path) -> None:
    """Two attempts of 10 and 30 minutes are 40 of the first one's GPUs; a list is not needed."""
    two = [attempt("09:00:00", "09:10:00", 8, 2), attempt("10:00:00", "10:30:00", 8)]
    trace = read_trace(philly(tmp_path, two, [attempt("08:05:00", "08:05:30", 1)]))
    assert essence(trace) == [("j0", 10, 0, 2400), ("j1", 1, 1, 30)]
    assert trace.notes == (
        "1 job had attempts with different numbers of GPUs: those of the first attempt count",
    )
    path = philly(tmp_path, [WHOLE], [attempt("09:00:00", None, 1)])
    lines = "\n".join(json.dumps(job) for job in json.loads(path.read_text()))
    assert essence(read_trace(write(tmp_path, "lines", lines))) == essence(read_trace(path))


def test_philly_names_a_server_once(tmp_path: Path) -> None:
    """Two entries of a server are the GPUs that the job held there."""
    twice = attempt("09:00:00", "09:10:00", 4, 2)
    twice["detail"].append({"ip": "m0", "gpus": ["gpu6"]})
    trace = read_trace(philly(tmp_path, [twice]))
    assert trace.jobs[0].gpus == 7
    assert trace.jobs[0].nodes == (("m0", 5), ("m1", 2))


def test_philly_leaves_out_what_has_no_duration(tmp_path: Path) -> None:
    """A job without attempts, GPUs or an end of the last attempt has none; each is counted."""
    whole = [attempt(None, "08:10:00", 1), attempt("08:20:00", "08:21:00", 1)]
    never, open_end = [], [attempt("08:10:00", "08:20:00", 1), attempt("08:30:00", "None", 1)]
    no_gpus, unstarted = [attempt("08:10:00", "08:20:00")], [attempt("", "08:20:00", 1)]
    trace = read_trace(philly(tmp_path, whole, never, open_end, no_gpus, unstarted))
    assert essence(trace) == [("j0", 1, 0, 60)]
    assert trace.notes[0].startswith("4 of 5 jobs left out: 1 never started, 1 still running")
    assert "1 without recorded GPUs, 1 without a start" in trace.notes[0]
    assert trace.notes[1] == "1 job had attempts without a start or an end: they do not count"


def test_helios_takes_the_end_minus_the_start(tmp_path: Path) -> None:
    """The times are dates; whatever the column of durations says is not read."""
    rows = (
        "7,u,vcA,16,64,2,COMPLETED,2020-06-09 18:41:01,2020-06-09 19:00:00,2020-06-10 19:00:01,1,\n"
        "8,u,vcB,0,1,1,FAILED,2020-06-09 18:41:02,2020-06-09 18:41:02,2020-06-09 18:41:02,,0\n"
    )
    path = write(tmp_path, "cluster_log.csv", HELIOS + rows)
    assert essence(read_trace(path)) == [("7", 16, 0, 86401), ("8", 0, 1, 0)]
    with_gpus = read_trace(path, min_gpus=1)
    assert essence(with_gpus) == [("7", 16, 0, 86401)]
    assert with_gpus.notes == ("1 of 2 jobs left out: 1 without GPUs",)


def test_acme_durations_do_not_include_the_queue(tmp_path: Path) -> None:
    """Kalos' own column counts from the submission; zones are respected, open ends left out."""
    rows = (
        "a,u,8,64,960,1000,100.0,Other,FAILED,2023-05-17 11:00:58+00:00,2023-05-17 11:01:08+00:00,"
        "2023-05-17 11:01:16+00:00,2023-05-17 11:01:16+00:00,,18,10.0,1152.0\n"
        "b,u,1,8,960,1000,100.0,Other,CANCELLED,2023-05-17 19:01:00+08:00,"
        "2023-05-17 11:01:01+00:00,2023-05-17 11:01:31.5+00:00,,,31,1.0,9\n"
        "c,u,1,8,960,1000,100.0,Eval,RUNNING,2023-05-17 19:01:00+08:00,"
        "2023-05-17 11:01:01+00:00,,,,,1.0,\n"
    )
    trace = read_trace(write(tmp_path, "trace_kalos.csv", ACME + rows))
    assert essence(trace) == [("a", 64, 0, 8), ("b", 8, 2, Fraction(61, 2))]
    assert trace.notes == ("1 of 3 jobs left out: 1 without an end",)


TASKS = (
    "one,worker,2.0,Terminated,1100.0,1700.0,600.0,29.3,100.0,V100\n"
    "one,ps,4.0,Terminated,1000.0,2000.0,400.0,7.5,,\n"
    "one,evaluator,1.0,Failed,1200.0,1800.0,400.0,7.5,200.0,V100\n"
    "two,tensorflow,5.0,Terminated,1500.0,1560.0,600.0,29.3,25.0,T4\n"
    "three,ps,1.0,Waiting,,,600.0,29.3,,\n"
    "four,worker,1.0,Running,1600.0,,600.0,29.3,50.0,MISC\n"
)


@pytest.mark.parametrize(("rule", "gpus"), [("up", 5), ("total", 2)])
def test_pai_adds_the_tasks_of_a_job(tmp_path: Path, rule: str, gpus: int) -> None:
    """2 x 1 + 1 x 2 GPUs from the first to the last of the tasks that have any; 5 x 25 percent."""
    write(tmp_path, "pai_task_table.header", PAI)
    trace = read_trace(write(tmp_path, "pai_task_table.csv", TASKS), fractional=rule)
    assert essence(trace) == [("one", 4, 0, 700), ("two", gpus, 400, 60)]
    left_out = "2 of 4 jobs left out: 1 without a start, 1 without an end"
    assert trace.notes[0] == left_out and trace.notes[1].startswith("1 job with a fraction")
    assert trace.notes[2].startswith("pai_job_table.csv is not beside it")
    dropped = read_trace(tmp_path / "pai_task_table.csv", fractional="drop")
    assert [job.id for job in dropped.jobs] == ["one"]
    assert "1 asking for a fraction of a GPU" in dropped.notes[0]


def test_pai_submissions_come_from_the_table_of_jobs(tmp_path: Path) -> None:
    """If the table is there, its start is the submission and its status the job's."""
    path = write(tmp_path, "pai_task_table.csv", TASKS)
    jobs = "one,i1,u,Terminated,900.0,2000.0\ntwo,i2,u,Failed,950.0,1560.0\n"
    write(tmp_path, "pai_job_table.csv", jobs)
    assert essence(read_trace(path)) == [("one", 4, 0, 700), ("two", 5, 50, 60)]
    chosen = [[job.id for job in read_trace(path, states=s).jobs] for s in ("Terminated", "Failed")]
    assert chosen == [["one"], ["two"]]
    (tmp_path / "pai_job_table.csv").unlink()
    assert [job.id for job in read_trace(path, states="Failed").jobs] == ["one"]
    assert [job.id for job in read_trace(path, clusters="T4").jobs] == ["two"]


def test_pai_columns_are_those_of_the_header_file(tmp_path: Path) -> None:
    """Another order in the header file is another order of the cells."""
    cells = [line.split(",") for line in TASKS.splitlines()]
    turned = "".join(",".join(reversed(row)) + "\n" for row in cells)
    path = write(tmp_path, "pai_task_table.csv", turned)
    write(tmp_path, "pai_task_table.header", ",".join(reversed(PAI.strip().split(","))) + "\n")
    assert essence(read_trace(path, "pai")) == [("one", 4, 0, 700), ("two", 5, 400, 60)]


def test_openb_pods_last_from_scheduling_to_deletion(tmp_path: Path) -> None:
    """A pod of 0.46 GPUs counts as one; one that was never scheduled is left out."""
    rows = (
        "p0,88000,327680,8,1000,,Burstable,Succeeded,9437497,10769854,9437500\n"
        "p1,6000,12288,1,460,,LS,Running,9437498,9437598,9437498\n"
        "p2,11908,47104,1,1000,V100M16|V100M32,BE,Pending,9437499,9437500,\n"
        "p3,6000,12288,0,0,,LS,Failed,9437500,9437501,9437500\n"
    )
    path = write(tmp_path, "openb_pod_list_default.csv", OPENB + rows)
    trace = read_trace(path)
    assert essence(trace) == [("p0", 8, 0, 1332354), ("p1", 1, 1, 100), ("p3", 0, 3, 1)]
    assert "1 never scheduled" in trace.notes[0] and "1 job with a fraction" in trace.notes[1]
    kept = read_trace(path, fractional="drop", states=["Running", "Succeeded"])
    assert [job.id for job in kept.jobs] == ["p0"]


def test_jobs_are_chosen_by_state_and_cluster(tmp_path: Path) -> None:
    """Both filters at once; the source makes the trace again, and what was chosen can be kept."""
    path = philly(tmp_path, *[[WHOLE]] * 4)
    trace = read_trace(path, states="Pass", clusters=["vc1", "vc2"])
    assert [job.id for job in trace.jobs] == ["j1"]
    assert trace.notes == ("1 of 4 jobs chosen by state or cluster",)
    assert trace.source == (
        "read_trace('cluster_job_log', 'philly', states='Pass', clusters=['vc1', 'vc2'])"
    )
    chosen = read_trace("sample-pai", states="Terminated", fractional="total")
    write_trace(chosen, tmp_path / "chosen.csv.gz")
    assert read_trace(tmp_path / "chosen.csv.gz").jobs == chosen.jobs


def test_choices_that_no_job_can_meet_are_refused(tmp_path: Path) -> None:
    """A name that there is not is answered with those that there are."""
    path = philly(tmp_path, [WHOLE])
    with pytest.raises(UnknownName, match="no state of a job is called 'Passed'; did you mean"):
        read_trace(path, states=["Passed"])
    with pytest.raises(UnknownName, match="no cluster is called 'vc9'; did you mean 'vc0'"):
        read_trace(path, clusters="vc9")
    with pytest.raises(InstanceError, match=r"no job is left \(0 of 1 job chosen"):
        read_trace(path, states="Failed")
    with pytest.raises(UnknownName, match="rule for fractional GPUs"):
        read_trace(path, fractional="down")
    for options in ({"states": []}, {"clusters": ""}, {"min_gpus": -1}):
        with pytest.raises(OptionError):
            read_trace(path, **options)  # type: ignore[arg-type]
    rows = "a,u,1,8,9,1,1.0,Eval,FAILED,2023-05-17,2023-05-17,2023-05-18,,,1,1.0,1\n"
    with pytest.raises(OptionError, match="records no clusters"):
        read_trace(write(tmp_path, "trace_kalos.csv", ACME + rows), clusters="kalos")


def test_names_of_samples_are_checked(workdir: Path) -> None:
    """A typo is answered with the right name; a file of that name is the file."""
    with pytest.raises(UnknownName, match="no trace is called 'sample-phily'; did you mean"):
        read_trace("sample-phily")
    write(workdir, "sample-philly", OPENB + "p,1,1,1,1000,,LS,Failed,0,9,1\n")
    assert essence(read_trace("sample-philly")) == [("p", 1, 0, 8)]


def test_mappings_select_too(tmp_path: Path) -> None:
    """A column of states and one of clusters can be named; without them nothing is selected by."""
    path = write(tmp_path, "t.csv", "j,n,at,from,to,how,where\na,1,0,1,9,ok,x\nb,2,1,2,5,ko,x\n")
    mapping = {"id": "j", "gpus": "n", "submit": "at", "start": "from", "end": "to"}
    assert essence(read_trace(path, mapping)) == [("a", 1, 0, 8), ("b", 2, 1, 3)]
    more = mapping | {"state": "how", "cluster": "where"}
    assert [j.id for j in read_trace(path, more, states="ko", clusters="x").jobs] == ["b"]
    with pytest.raises(OptionError, match=r"states needs mapping\['state'\]"):
        read_trace(path, mapping, states="ko")
    with pytest.raises(UnknownName, match="no state of a job is called 'bad'; there are: ko, ok"):
        read_trace(path, more, states="bad")


def test_what_was_left_out_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Every note is one warning under the package's logger, with the file's name."""
    path = write(tmp_path, "pai_task_table.csv", TASKS)
    with caplog.at_level(logging.WARNING, "dlsched"):
        trace = read_trace(path)
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}: {note}" for note in trace.notes
    ]


def test_archives_and_folders_are_looked_into(tmp_path: Path) -> None:
    """A trace is found in the archive or the folder that it is published in."""
    folder = tmp_path / "trace-data"
    folder.mkdir()
    inner = philly(folder, [WHOLE])
    write(folder, "cluster_machine_list", "machineId,number of GPUs,single GPU mem\nm31,8, 24GB\n")
    with tarfile.open(tmp_path / "trace-data.tar.gz", "w:gz") as archive:
        archive.add(folder, "trace-data")
    expected = essence(read_trace(inner))
    assert essence(read_trace(tmp_path / "trace-data.tar.gz")) == expected
    assert essence(read_trace(folder)) == expected
    with pytest.raises(InstanceError, match="is a folder; name the file: cluster_job_log"):
        read_trace(tmp_path)
    write(folder, "trace_kalos.csv", ACME)
    with pytest.raises(InstanceError, match="is a folder with 2 traces: cluster_job_log, trace_k"):
        read_trace(folder)
    assert essence(read_trace(folder, "philly")) == expected
