"""Studies: what is claimed, sums over groups, windows, resuming."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from study_cases import record

import dlsched
from dlsched import OptionError, UnknownName
from dlsched.records import read_history
from dlsched.simulation.bounds import MetricBound
from dlsched.studies import limits
from dlsched.studies.groups import GROUPS, size_class
from dlsched.studies.verdict import span
from dlsched.studies.waiting import Spans, gaps, held_time, idle_shares


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dlsched.Study:
    """Give the study of a record that is a FIFO simulation of our own."""
    path = tmp_path_factory.mktemp("study") / "sacct.txt"
    return dlsched.study(record(path, 60), ["fifo", "backfill", "srsf"])


def test_what_recorded_the_jobs_saves_nothing(made: dlsched.Study) -> None:
    """FIFO on a record of FIFO has the recorded waits, all of which are explained."""
    table = made.table.set_index("policy")
    assert made.check and made.check.details["largest_difference"] == 0
    assert made.explained.share == 1.0
    assert table.at["fifo", "saved_wait"] == table.at["fifo", "saved_jct"] == 0
    assert table.at["fifo", "earlier"] == table.at["fifo", "later"] == 0
    assert table.at["fifo", "mean_wait"] > 0
    for column in ("p95_jct", "p99_wait", "mean_slowdown", "utilization", "idle_gpu_hours"):
        assert table.at["fifo", column] == pytest.approx(table.at["recorded", column], rel=1e-12)
    assert made.supported


def test_bound_below_every_policy(made: dlsched.Study) -> None:
    """No policy, and not the record, completes or waits less than the certified bound."""
    (limit,) = made.limits
    rows = made.table[made.table["policy"] != "no schedule below"]
    assert (rows["mean_jct"] >= limit.mean_jct).all()
    assert limit.mean_wait is not None and (rows["mean_wait"] >= limit.mean_wait - 1e-6).all()
    assert (rows["gap"] >= 0).all()


@pytest.mark.parametrize("what", GROUPS)
def test_sums_over_groups_are_the_table(made: dlsched.Study, what: str) -> None:
    """Jobs, hours waited, saved and idle, and jobs better and worse off add up to the table's."""
    sums = made.by(what).groupby("policy").sum(numeric_only=True)
    for row in made.table.dropna(subset=["wait_hours"]).to_dict("records"):
        for column in ("jobs", "wait_hours", "saved_hours", "idle_gpu_hours", "earlier", "later"):
            expected = pytest.approx(row[column], rel=1e-9, abs=1e-9)
            assert sums.at[row["policy"], column] == expected


def test_the_verdict_names_policies_and_bound(made: dlsched.Study) -> None:
    """It has the record's wait, each policy's, the bound, and how many would wait longer."""
    said = made.verdict.headline
    assert said.startswith("The record waits ")
    assert "Knowing the jobs' limits, fifo would wait " in said
    assert "; no schedule can wait less than " in said
    assert "Under srsf " in said and " of 60 jobs would have waited longer." in said
    assert "backfill waits" in made.verdict.sentences[1]
    assert len(repr(made)) <= 500 and "60 jobs" in repr(made)
    assert "&lt;" not in made._repr_html_() or "<b>eve" not in made._repr_html_()


def test_missing_rows_are_no_saving(tmp_path: Path) -> None:
    """Of a record that lacks jobs less is explained; below 80 % no saving is claimed."""
    whole = dlsched.study(record(tmp_path / "a.txt"), ["fifo"], bounds=False)
    part = dlsched.study(record(tmp_path / "b.txt", kept=0.5), ["fifo"], bounds=False)
    assert part.explained.share < 0.8 < whole.explained.share
    assert not part.supported
    percent = int(100 * part.explained.share)
    assert (
        f"{percent} % is explained by this record: no saving is claimed." in part.verdict.headline
    )
    assert any("sacct -a" in remedy for remedy in part.verdict.remedies)
    assert "not supported by this record" in part.verdict.sentences[0]


def test_a_window_and_a_partition(tmp_path: Path) -> None:
    """Jobs that ran at the window's start are not counted; a wrong partition is named."""
    history = record(tmp_path / "a.txt")
    window = ("2026-01-01T01:00", None)
    inner = dlsched.study(history, ["fifo"], window=window, partition="gpu", bounds=False)
    assert len(inner.recorded.jobs) < 120
    assert (inner.period.jobs["role"] == "carried").any()
    assert inner.table.set_index("policy").at["fifo", "saved_wait"] == pytest.approx(0, abs=1)
    with pytest.raises(UnknownName, match="no partition is called 'gpus'; did you mean 'gpu'"):
        dlsched.study(history, partition="gpus")


def test_bad_options(made: dlsched.Study) -> None:
    """No policy, one twice, an unknown group or word: one error each, with what there is."""
    with pytest.raises(OptionError, match="a study needs a policy"):
        dlsched.study(made.history, [])
    with pytest.raises(OptionError, match="have a name twice"):
        dlsched.study(made.history, ["fifo", "fifo"])
    with pytest.raises(UnknownName, match="did you mean 'backfill'"):
        dlsched.study(made.history, ["backfil"])
    with pytest.raises(UnknownName, match="did you mean 'limit'"):
        dlsched.study(made.history, ["fifo"], knows="limits")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="did you mean 'user'"):
        made.by("users")


@pytest.mark.slow
def test_jobs_that_share(tmp_path: Path) -> None:
    """Muri-S gets assumed stages, which is said, and the bound that allows for sharing."""
    made = dlsched.study(record(tmp_path / "a.txt", 40), ["fifo", ("muri_s", None)])
    assert [limit.sharing for limit in made.limits] == [False, True]
    row = made.table.set_index("policy").loc["muri_s"]
    assert row["mean_jct"] >= made.limits[1].mean_jct and row["gap"] >= 0
    assert any("drawn" in sentence for sentence in made.assumptions)
    assert "no schedule without sharing can wait less" in made.verdict.headline


def test_a_kept_bound_is_of_the_same_jobs(
    made: dlsched.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bound is taken from the folder for equal jobs only."""
    calls: list[str] = []

    def bound(_jobs: Any, _cluster: Any, metric: str, **_options: Any) -> MetricBound:
        calls.append(metric)
        return MetricBound(Fraction(1000, 3), "made up")

    monkeypatch.setattr(limits, "bound", bound)
    workload = made.period.workload()
    first = limits.lower_limit(made.period, workload, False, tmp_path)
    assert first.mean_jct < 1000 / 3 + 1e-9
    assert limits.lower_limit(made.period, workload, False, tmp_path) == first
    assert len(calls) == 1
    kept = tmp_path / "bound.json"
    text = kept.read_text()
    kept.write_text(text.replace('"jobs_sha256": "', '"jobs_sha256": "0'))
    assert limits.lower_limit(made.period, workload, False, tmp_path) == first
    assert kept.read_text() == text and len(calls) == 2


def test_a_study_goes_on_from_its_logs(tmp_path: Path) -> None:
    """With the same folder nothing is simulated again; another study's logs are refused."""
    history = record(tmp_path / "a.txt", 60)
    options = {"bounds": False, "folder": tmp_path / "runs"}
    first = dlsched.study(history, ["fifo", "srsf"], **options)
    said: list[tuple[str, int, int]] = []

    def tell(*what: Any) -> None:
        said.append(what)

    again = dlsched.study(history, ["fifo", "srsf"], on_progress=tell, **options)
    assert again.table.equals(first.table)
    assert not any("is simulated" in what for what, *_ in said)
    with pytest.raises(OptionError, match="is of another simulation"):
        dlsched.study(history, ["fifo"], knows="truth", **options)


def test_without_recorded_waits(tmp_path: Path) -> None:
    """A model of a workload has no waits: policies are compared with each other."""
    lines = [f"{i + 1} {60 * i} -1 600 2 -1 -1 2 900 -1 1 1 -1 1 1 1 -1 -1" for i in range(30)]
    path = tmp_path / "model.swf"
    path.write_text("; MaxProcs: 8\n" + "\n".join(lines) + "\n")
    made = dlsched.study(read_history(path, "swf"), ["fifo", "srsf"], bounds=False)
    assert "does not say when jobs started" in made.verdict.headline
    assert not made.supported
    made.save(tmp_path / "out")
    assert "recorded</td>" not in (tmp_path / "out" / "study.html").read_text()


def test_idle_gpus_are_divided_by_what_is_asked_for() -> None:
    """Of two idle GPUs for 10 s, jobs that ask for 3 and 1 are charged with 15 and 5 seconds."""
    held = Spans(np.array([0]), np.array([0.0]), np.array([10.0]), np.array([2.0]))
    waits = Spans(
        np.array([1, 2]), np.array([0.0, 0.0]), np.array([10.0, 10.0]), np.array([3.0, 1.0])
    )
    assert idle_shares(held, waits, 4, 3).tolist() == [0, 15, 5]
    assert held_time(held, 4, 5, 20) == 10
    assert held_time(held, 1, 0, 20) == 10


def test_waits_are_the_gaps_of_a_job() -> None:
    """A preempted job waits before its first run and between its runs."""
    held = Spans(
        np.array([0, 0, 1]),
        np.array([5.0, 20.0, 0.0]),
        np.array([10.0, 30.0, 9.0]),
        np.array([1.0, 1.0, 2.0]),
    )
    found = gaps(held, np.array([2.0, 0.0]), np.array([1.0, 2.0]))
    assert [*zip(found.job, found.start, found.end, strict=True)] == [(0, 2, 5), (0, 10, 20)]


def test_words() -> None:
    """Durations as people say them, sizes in powers of two."""
    assert [span(s) for s in (61, 125, 1500, 9000, 400000)] == [
        "61 s",
        "2.1 min",
        "25 min",
        "2.5 h",
        "4.6 days",
    ]
    assert [size_class(n) for n in (1, 2, 3, 4, 5, 8, 9, 64)] == [
        "1",
        "2",
        "3-4",
        "3-4",
        "5-8",
        "5-8",
        "9-16",
        "33-64",
    ]
