"""A simulation of this library, written as a record and read back, is what it was."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest
from record_files import fifo, read, waits

from dlsched.records import sacct_text, swf_text
from dlsched.simulation import Simulation


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
    assert history.explained.share == history.explained.gpu_share == 1
    period = history.within()
    again = period.outcome(period.simulate("fifo"))
    assert again["wait"].tolist() == waits(history)


@pytest.mark.parametrize("begin", ["2026-10-24T12:00:00", "2027-03-27T12:00:00"])
def test_a_night_of_daylight_saving_changes_nothing(tmp_path: Path, begin: str) -> None:
    """In Europe/Berlin the clock is put back or forward while jobs run."""
    run = fifo(400, 4, 3600)
    text = sacct_text(run, begin=begin, timezone="Europe/Berlin")
    history = read(tmp_path, text, timezone="Europe/Berlin")
    assert waits(history) == run.jobs["queueing"].tolist()
    plain = read(tmp_path, sacct_text(run, begin=begin), timezone="UTC")
    assert plain.jobs[["submit", "start", "end"]].equals(history.jobs[["submit", "start", "end"]])


def test_what_the_clock_showed_twice_is_told_apart_and_counted(tmp_path: Path) -> None:
    """Jobs that begin and end within the repeated hour are known by what ended when they began."""
    run = fifo(400, 5, 1, 130)
    text = sacct_text(run, begin="2026-10-24T20:00:00", timezone="Europe/Berlin")
    history = read(tmp_path, text, timezone="Europe/Berlin")
    assert waits(history) == run.jobs["queueing"].tolist()
    said = "13 jobs with times of an hour that the clock showed twice: 13 told apart"
    assert any(note.startswith(said) for note in history.notes), history.notes


def test_the_wrong_zone_is_found_out(tmp_path: Path) -> None:
    """Read as UTC, jobs over the night are an hour off their Elapsed, which counts."""
    run = fifo(400, 4, 3600)
    text = sacct_text(run, begin="2026-10-24T12:00:00", timezone="Europe/Berlin")
    history = read(tmp_path, text)
    assert any("an hour off Elapsed" in note and "2026-10-25" in note for note in history.notes)
    jobs = history.jobs.sort_values("row")
    assert (jobs["end"] - jobs["start"]).tolist() == run.jobs["attained"].tolist()
