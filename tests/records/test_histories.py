"""Simulations as records, read back; windows of a history; what policies know of durations."""

import hashlib
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from record_files import SACCT, fifo, read, row, waits

from dlsched import History
from dlsched.simulation import Simulation, swf_text
from sacct_writer import sacct_text


def anonymised(run: Simulation) -> str:
    """Return a record in which nobody finds a name or a number of the cluster again."""
    table = pd.read_csv(StringIO(sacct_text(run)), sep="|", dtype=str, keep_default_na=False)
    for name in ("User", "Account", "Partition", "Cluster", "JobName"):
        table[name] = [hashlib.sha256(cell.encode()).hexdigest()[:8] for cell in table[name]]
    for name in ("JobID", "JobIDRaw"):
        table[name] = (table[name].astype(int) + 70_000).astype(str)
    table["NodeList"] = table["NodeList"].str.replace("^s", "node-", regex=True)
    return table.to_csv(sep="|", index=False)


@pytest.mark.parametrize(
    ("text", "name"), [(sacct_text, "s.txt"), (anonymised, "a.txt"), (swf_text, "s.swf")]
)
def test_own_fifo_is_replayed_explained_and_not_improved(
    text: Callable[[Simulation], str], name: str, tmp_path: Path
) -> None:
    """The replay is exact, every wait is explained, and fifo saves nothing, nodes named or not."""
    run = fifo(300)
    history = read(tmp_path, text(run), name, timezone="UTC")
    assert history.capacity.total == 64
    assert waits(history) == run.jobs["queueing"].tolist()
    report = history.check()
    assert report and report.details["largest_difference"] == 0
    assert history.explained.share == 1
    period = history.within()
    again = period.outcome(period.simulate("fifo"))
    assert again["wait"].tolist() == waits(history)


def test_what_the_clock_showed_twice_is_told_apart_and_counted(tmp_path: Path) -> None:
    """Jobs that begin and end within the repeated hour are known by what ended when they began."""
    run = fifo(400, 5, 1, 130)
    text = sacct_text(run, begin="2026-10-24T20:00:00", timezone="Europe/Berlin")
    history = read(tmp_path, text, timezone="Europe/Berlin")
    assert waits(history) == run.jobs["queueing"].tolist()
    said = "13 jobs with times of an hour that the clock showed twice: 13 told apart"
    assert any(note.startswith(said) for note in history.notes), history.notes
    # Where nothing ended in that second, it is taken as of the first hour.
    times = [f"2026-10-25T02:{minute}:00" for minute in ("10", "20", "40")]
    cells = dict(zip(("Submit", "Start", "End"), times, strict=True))
    alone = row(1, Elapsed="00:20:00", Eligible=times[0], **cells)
    history = read(tmp_path, [SACCT, alone], timezone="Europe/Berlin")
    assert any("second, 1 taken as of the first hour" in note for note in history.notes)
    assert pd.to_datetime(history.jobs["start"][0], unit="s") == pd.Timestamp("2026-10-25T00:20")


def table(tmp_path: Path, rows: list[str]) -> History:
    """Return a history of rows of a table: id, user, partition, gpus, times, limit, nodes."""
    head = "id,user,partition,gpus,submit,eligible,start,end,limit,nodes"
    return read(tmp_path, [head, *rows], "jobs.csv", timezone="UTC")


ROWS = [
    "before,a,p,2,0,0,0,50,60,n1",
    "runs,a,p,2,10,10,20,200,300,n1",
    "queued,b,p,2,30,30,200,260,120,n1",
    "late,b,p,1,110,120,260,300,60,n2",
    "over,b,q,1,150,150,250,900,2000,n2",
    "after,b,q,1,450,450,460,480,60,n2",
    "never,c,q,1,200,200,,,60,",
    "nothing,c,q,1,210,210,220,220,60,n2",
]


def test_roles_of_a_window(tmp_path: Path) -> None:
    """What ran before holds its nodes, what was queued keeps its submission, the rest is apart."""
    period = table(tmp_path, ROWS).within(100, 400)
    roles = dict(zip(period.jobs["id"], period.jobs["role"], strict=True))
    assert roles == {
        "runs": "carried",
        "queued": "counted",
        "late": "counted",
        "over": "censored",
        "never": "never",
        "nothing": "instant",
    }
    jobs = {job.id: job for job in period.workload("truth").jobs}
    assert period.origin == 99
    assert (jobs["runs"].submit, jobs["runs"].work, jobs["runs"].start) == (0, 101, 0)
    assert (jobs["queued"].submit, jobs["queued"].work, jobs["queued"].start) == (1, 60, 101)
    assert jobs["late"].submit == 21  # when it became eligible
    assert period.check()
    outcome = period.outcome()
    assert outcome["id"].tolist() == ["queued", "late"]
    assert outcome["wait"].tolist() == [170, 150]
    # Of a partition only its jobs count; what other partitions ran on its nodes is noted.
    period = table(tmp_path, ROWS).within(partition="q")
    assert period.jobs["id"].tolist() == ["over", "never", "nothing", "after"]
    assert period.capacity.nodes["name"].tolist() == ["n2"]
    assert any("1 job of other partitions ran on these nodes" in note for note in period.notes)


@pytest.mark.parametrize("policy", ["fifo", "backfill", "srsf", "tiresias"])
def test_policies_begin_with_what_ran(tmp_path: Path, policy: str) -> None:
    """The carried job runs from the window's start, and every job holds its nodes for the delay."""
    period = table(tmp_path, ROWS).within(100, 400)
    run = period.simulate(policy)
    assert run.audit()
    assert run.jobs.set_index("id").loc["runs", "start"] == 0
    assert period.outcome(run)["wait"].min() >= 10  # late was not eligible before
    late = table(tmp_path, ROWS).within().simulate(policy, delay=5)
    assert late.audit()
    held = late.jobs["attained"] - late.jobs["work"]
    assert np.allclose(held, 5 * (1 + late.jobs["preemptions"]))


def test_estimates_are_what_policies_know(tmp_path: Path) -> None:
    """The limit, less what has passed of a job that runs; the mean of a user; or the truth."""
    period = table(tmp_path, ROWS).within(100, 400)
    limits = {job.id: job.estimate for job in period.workload("limit").jobs}
    assert limits == {"runs": 300 - 79, "queued": 120, "late": 60, "over": 2000}
    means = {job.id: job.estimate for job in period.workload("user_mean").jobs}
    # Of user a one job of 50 s had ended by 10? None: its limit. Nobody's of user b by 30 or 150.
    assert means == {"runs": 300 - 79, "queued": 120, "late": 60, "over": 2000}
    full = table(tmp_path, ROWS).within()
    means = {job.id: job.estimate for job in full.workload("user_mean").jobs}
    assert means["after"] == 50  # 60 s and 40 s had ended by 450; that of 650 s had not
    assert all(job.estimate is None for job in period.workload("truth").jobs)


BERLIN = "Europe/Berlin"


@pytest.mark.parametrize("begin", ["2026-10-24T12:00:00", "2027-03-27T12:00:00"])
def test_a_night_of_daylight_saving_changes_nothing(tmp_path: Path, begin: str) -> None:
    """In Berlin the clock is put back or forward while jobs run; read as UTC, Elapsed counts."""
    run = fifo(400, 4, 3600)
    text = sacct_text(run, begin=begin, timezone=BERLIN)
    history = read(tmp_path, text, timezone=BERLIN)
    assert waits(history) == run.jobs["queueing"].tolist()
    plain = read(tmp_path, sacct_text(run, begin=begin), timezone="UTC")
    assert plain.jobs[["submit", "start", "end"]].equals(history.jobs[["submit", "start", "end"]])
    wrong = read(tmp_path, text)
    assert any("an hour off Elapsed" in note for note in wrong.notes), wrong.notes
    jobs = wrong.jobs.sort_values("row")
    assert (jobs["end"] - jobs["start"]).tolist() == run.jobs["attained"].tolist()


def test_a_window_in_the_middle_is_replayed(tmp_path: Path) -> None:
    """Jobs are carried into it, and the waits of the rest are the recorded ones.

    A history shows itself in a line of counts; a notebook shows names as text.
    """
    history = read(tmp_path, sacct_text(fifo(300)), timezone="UTC")
    first, last = history.window
    period = history.within(first + 0.3 * (last - first), first + 0.7 * (last - first))
    assert (period.jobs["role"] == "carried").any()
    report = period.check()
    assert report and report.details["largest_difference"] == 0
    assert period.explained.share == 1
    again = period.outcome(period.simulate("fifo"))
    assert np.abs(again["wait"] - period.outcome()["wait"]).max() < 1e-6
    for shown in (history, period, history.explained, history.capacity):
        assert len(repr(shown)) < 300 and "\n" not in repr(shown)
    assert "300 jobs, 300 started; 0 rows dropped" in repr(history)
    named = table(tmp_path, ["<i>x</i>,a,p,2,0,0,0,50,60,n1"])._repr_html_()
    assert "<i>x" not in named and "&lt;i&gt;x" in named
