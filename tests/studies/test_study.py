"""Studies: what is claimed, sums over groups, windows, resuming."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from study_cases import record

import dlsched
from dlsched import DlschedError, OptionError, UnknownName


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


@pytest.mark.parametrize("what", ["user", "account", "partition", "size"])
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
    with pytest.raises(UnknownName, match="did you mean 'user'"):
        made.by("users")
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
    """Jobs that ran at the window's start are not counted."""
    history = record(tmp_path / "a.txt")
    window = ("2026-01-01T01:00", None)
    inner = dlsched.study(history, ["fifo"], window=window, partition="gpu", bounds=False)
    assert len(inner.recorded.jobs) < 120
    assert (inner.period.jobs["role"] == "carried").any()
    assert inner.table.set_index("policy").at["fifo", "saved_wait"] == pytest.approx(0, abs=1)


@pytest.mark.parametrize(
    ("policies", "options", "message"),
    [
        ([], {}, "a study needs a policy"),
        (["fifo", "fifo"], {}, "have a name twice"),
        (["backfil"], {}, "did you mean 'backfill'"),
        (["fifo"], {"knows": "limits"}, "did you mean 'limit'"),
        (["fifo"], {"partition": "gpus"}, "no partition is called 'gpus'; did you mean 'gpu'"),
    ],
)
def test_bad_options(
    made: dlsched.Study, policies: Any, options: dict[str, Any], message: str
) -> None:
    """No policy, one twice, an unknown word: one error each, with what there is."""
    with pytest.raises(DlschedError, match=message):
        dlsched.study(made.history, policies, **options)


@pytest.mark.slow
def test_jobs_that_share(tmp_path: Path) -> None:
    """Muri-S gets assumed stages, which is said, and the bound that allows for sharing."""
    made = dlsched.study(record(tmp_path / "a.txt", 40), ["fifo", ("muri_s", None)])
    assert [limit.sharing for limit in made.limits] == [False, True]
    row = made.table.set_index("policy").loc["muri_s"]
    assert row["mean_jct"] >= made.limits[1].mean_jct and row["gap"] >= 0
    assert any("drawn" in sentence for sentence in made.assumptions)
    assert "no schedule without sharing can wait less" in made.verdict.headline


def test_a_kept_bound_is_of_the_same_jobs(made: dlsched.Study, tmp_path: Path) -> None:
    """A bound is taken from the folder for equal jobs only."""

    def limit() -> float:
        return dlsched.study(made.history, ["fifo"], folder=tmp_path).limits[0].mean_jct

    first, kept = limit(), tmp_path / "bound.json"
    text = kept.read_text()
    seconds = json.loads(text)["seconds"]
    kept.write_text(text.replace(str(seconds), str(seconds - 1)))
    assert limit() == pytest.approx(first - 1)
    kept.write_text(kept.read_text().replace('"jobs_sha256": "', '"jobs_sha256": "0'))
    assert limit() == first
    assert kept.read_text() == text


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
