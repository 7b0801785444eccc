"""A simulation of this library, written as a record and read back, is what it was."""

from __future__ import annotations

import hashlib
import random
import re
from pathlib import Path

import pytest
from record_files import fifo, read, waits

from dlsched.records import sacct_text, swf_text

SIZES = pytest.mark.parametrize("jobs", [300, pytest.param(2000, marks=pytest.mark.slow)])


@SIZES
def test_own_fifo_is_replayed_explained_and_not_improved(tmp_path: Path, jobs: int) -> None:
    """The replay is exact, every wait is explained, and the study's fifo saves nothing."""
    run = fifo(jobs)
    history = read(tmp_path, sacct_text(run), timezone="UTC")
    assert history.capacity.total == 64
    assert waits(history) == run.jobs["queueing"].tolist()
    report = history.check()
    assert report and report.details["largest_difference"] == 0
    assert history.explained.share == history.explained.gpu_share == 1
    period = history.within()
    again = period.outcome(period.simulate("fifo"))
    assert again["wait"].tolist() == waits(history)


@SIZES
def test_without_a_tenth_of_the_rows_less_is_explained(tmp_path: Path, jobs: int) -> None:
    """What was deleted held GPUs: now there seems to have been room, and no saving is claimed."""
    head, *rows = sacct_text(fifo(jobs)).splitlines()
    rng = random.Random(1)
    kept = [row for row in rows if rng.random() > 0.1]
    history = read(tmp_path, [head, *kept], timezone="UTC")
    assert history.check()
    assert history.explained.share < 0.8
    assert not history.explained.supported


@SIZES
def test_swf_of_it_gives_the_same_waits(tmp_path: Path, jobs: int) -> None:
    """Without nodes the cluster is one pool of as many processors."""
    run = fifo(jobs)
    history = read(tmp_path, swf_text(run), format="swf", timezone="UTC")
    assert history.capacity.total == 64
    assert waits(history) == run.jobs["queueing"].tolist()
    assert history.check()
    assert history.explained.share == 1


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


@SIZES
def test_anonymised_it_is_the_same(tmp_path: Path, jobs: int) -> None:
    """Names of users, accounts, nodes and jobs, and numbers of jobs, do not matter."""
    run = fifo(jobs)
    head, *rows = sacct_text(run).splitlines()

    def hashed(text: str) -> str:
        return "x" + hashlib.sha256(text.encode()).hexdigest()[:8]

    changed = []
    for row in rows:
        cells = row.split("|")
        for name in ("User", "Account", "Partition", "Cluster", "JobName"):
            place = head.split("|").index(name)
            cells[place] = hashed(cells[place])
        for name in ("JobID", "JobIDRaw"):
            place = head.split("|").index(name)
            cells[place] = str(int(cells[place]) + 70_000)
        place = head.split("|").index("NodeList")
        cells[place] = re.sub(r"^s", "node-", cells[place])
        changed.append("|".join(cells))
    history = read(tmp_path, [head, *changed], timezone="UTC")
    assert waits(history) == run.jobs["queueing"].tolist()
    assert history.explained.share == 1
    assert history.check()
