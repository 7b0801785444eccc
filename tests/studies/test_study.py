"""Studies: what is claimed, sums over groups, windows, resuming, files, the command."""

import csv
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from study_cases import record

import dlsched
from calls import run
from dlsched import OptionError, UnknownName


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dlsched.Study:
    """Give the study of a record that is a FIFO simulation of our own."""
    path = tmp_path_factory.mktemp("study") / "sacct.txt"
    return dlsched.study(record(path, 60), ["fifo", "backfill", "srsf"], ran="fifo")


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
    (limit,) = made.limits  # nobody, and not the record, completes or waits less
    rows = made.table[made.table["policy"] != "no schedule below"]
    assert (rows["mean_jct"] >= limit.mean_jct).all() and (rows["gap"] >= 0).all()
    assert limit.mean_wait is not None and (rows["mean_wait"] >= limit.mean_wait - 1e-6).all()


@pytest.mark.parametrize("what", ["user", "account", "qos", "partition", "size"])
def test_sums_over_groups_are_the_table(made: dlsched.Study, what: str) -> None:
    """Jobs, hours waited, saved and idle, and jobs better and worse off add up to the table's."""
    sums = made.by(what).groupby("policy").sum(numeric_only=True)
    for row in made.table.dropna(subset=["wait_hours"]).to_dict("records"):
        if row["policy"] == made.ran.name:
            continue
        for column in ("jobs", "wait_hours", "saved_hours", "earlier", "later"):
            expected = pytest.approx(row[column], rel=1e-9, abs=1e-9)
            assert sums.at[row["policy"], column] == expected


def test_the_verdict_names_policies_and_bound(made: dlsched.Study) -> None:
    """It has the record's wait, each policy's, the bound, and how many would wait longer."""
    said = made.verdict.headline
    assert said.startswith("Supported: the record waits ")
    assert "knowing the jobs' limits, policies would wait: fifo " in said
    assert "; no schedule can wait less than " in said
    assert "In the simulator fifo waits " in made.verdict.sentences[0]
    assert made.verdict.sentences[2].startswith("Under srsf (without preemption) ")
    with pytest.raises(UnknownName, match="did you mean 'user'"):
        made.by("users")
    assert len(repr(made)) <= 500 and "60 jobs" in repr(made)
    assert "<b>eve" not in made._repr_html_()


def test_missing_rows_are_no_saving(tmp_path: Path) -> None:
    """Of a record that lacks jobs less is explained; below 80 % no saving is claimed.

    In a window, jobs that ran at its start are not counted.
    """
    history = record(tmp_path / "a.txt")
    whole = dlsched.study(history, ["fifo"], bounds=False)
    part = dlsched.study(record(tmp_path / "b.txt", kept=0.5), ["fifo"], bounds=False)
    assert part.explained.share < 0.8 < whole.explained.share
    assert not part.supported
    percent = int(100 * part.explained.share)
    said = f"only {percent} % of that is explained by it"
    assert said in {reason for claim in part.verdict.claims for reason in claim.reasons}
    part.save(tmp_path / "out")
    page = (tmp_path / "out" / "study.html").read_text()
    assert "not supported by this record" in page and "sacct -a" in page
    window = ("2026-01-01T01:00", None)
    inner = dlsched.study(history, ["fifo"], window=window, partition="gpu", bounds=False)
    assert len(inner.recorded.jobs) < 120 and (inner.period.jobs["role"] == "carried").any()
    assert inner.table.set_index("policy").at["fifo", "saved_wait"] == pytest.approx(0, abs=1)


@pytest.mark.slow
def test_jobs_that_share(tmp_path: Path) -> None:
    """Muri-S gets assumed stages, which is said, and the bound that allows for sharing."""
    made = dlsched.study(record(tmp_path / "a.txt", 40), ["fifo", ("muri_s", None)])
    assert [limit.sharing for limit in made.limits] == [False, True]
    row = made.table.set_index("policy").loc["muri_s"]
    assert row["mean_jct"] >= made.limits[1].mean_jct and row["gap"] >= 0
    assert "drawn stages" in row["terms"]
    assert "no schedule without sharing can wait less" in made.verdict.headline


def test_a_study_goes_on_from_its_folder(tmp_path: Path) -> None:
    """Nothing is simulated again; a bound is taken for equal jobs only, logs are of one study."""
    said: list[Any] = []
    history = record(tmp_path / "a.txt", 20)

    def study(**options: Any) -> dlsched.Study:
        return dlsched.study(history, ["fifo"], folder=tmp_path, **options)

    first = study()
    assert study(on_progress=lambda *what: said.append(what[0])).table.equals(first.table)
    assert said and not any("is simulated" in what for what in said)
    kept = tmp_path / "bound.json"
    text = kept.read_text()
    (seconds,) = json.loads(text)["seconds"]
    kept.write_text(text.replace(str(seconds), str(seconds - 1)))
    assert study().limits[0].mean_jct == pytest.approx(first.limits[0].mean_jct - 1)
    kept.write_text(kept.read_text().replace('"jobs_sha256": "', '"jobs_sha256": "0'))
    assert study().limits == first.limits and kept.read_text() == text
    with pytest.raises(OptionError, match="is of another simulation"):
        study(knows="truth")


@pytest.fixture(scope="module")
def folder(made: dlsched.Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of the study."""
    path = tmp_path_factory.mktemp("files") / "out"
    pictures = {f"{name}.svg" for name in ("queue", "held", "waits", "day-recorded", "day-policy")}
    tables = {"study.html", "study.json", "jobs.csv", "dropped.csv", "table.csv"}
    assert {file.name for file in made.save(path)} == pictures | tables
    return path


def test_the_page_is_self_contained(folder: Path) -> None:
    """No resource is loaded, no id stands twice, names are escaped, and the verdict comes first."""
    page = (folder / "study.html").read_text()
    assert not re.findall(r"<(?:script|link|iframe|object)\b", page)
    loaded = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert all(text.startswith(("#", "data:")) for text in loaded)
    assert "url(http" not in page and "@import" not in page
    ids = re.findall(r'\bid="([^"]*)"', page)
    assert len(set(ids)) == len(ids)
    assert "<b>eve" not in page and "&lt;b&gt;eve" in page
    assert page.count("data:image/svg+xml;base64,") == 5
    assert 0 < page.index('class="verdict') < page.index("<table") < page.index("<img")


def test_figures_as_json_and_csv(folder: Path) -> None:
    """study.json has the table and all groups; jobs.csv a row per job with each policy's wait."""
    figures = json.loads((folder / "study.json").read_text())
    assert figures["dlsched_study"] == 2
    assert figures["explained"]["share"] == 1 and figures["check"]["feasible"] is True
    names = [row["policy"] for row in figures["table"]]
    assert names[:4] == ["recorded", "as ran: fifo", "fifo", "backfill"]
    assert set(figures["by"]) == {"user", "account", "qos", "partition", "size"}
    rows = list(csv.DictReader((folder / "jobs.csv").read_text().splitlines()))
    assert len(rows) == 60
    mean = sum(float(row["wait backfill"]) for row in rows) / 60
    assert mean == pytest.approx(figures["table"][3]["mean_wait"])
    for path in folder.glob("*.svg"):  # of a size that does not grow with the jobs
        text = path.read_text()
        assert text.startswith("<?xml") and len(text) < 200_000


@pytest.mark.parametrize(
    ("arguments", "said", "status"),
    [
        ("good.txt --timezone UTC --no-bounds -p fifo -p fifo", "have a name twice", 2),
        ("good.txt --timezone UTC --no-bounds -p backfil", "did you mean 'backfill'", 2),
        ("good.txt --timezone UTC -p fifo --knows limits", "did you mean 'limit'", 2),
        ("good.txt --timezone UTC -p fifo --partition gpus", "'gpus'; did you mean 'gpu'", 2),
        (
            "good.txt --timezone UTC -p fifo --no-bounds -o out --ran fifo",
            "Supported: the record",
            0,
        ),
        ("good.txt --timezone UTC -p fifo --ran fif", "did you mean 'fifo'", 2),
        ("good.txt --timezone UTC -p fifo --add-nodes 0", "'0' is no number of nodes", 2),
        ("--command slurm", "TZ=UTC SLURM_TIME_FORMAT=standard sacct -a -X -P -D", 0),
        ("--command slrm", "did you mean 'slurm'", 2),
        ("", "name the file of the record", 2),
        ("none.txt", "none.txt: cannot be read", 2),
        ("sacct.txt --column b", "'b' names no column; write FIELD=NAME", 2),
        ("sacct.txt -o sacct.txt", "it is a file: name a folder", 2),
    ],
)
def test_what_the_command_says(arguments: str, said: str, status: int, workdir: Path) -> None:
    """The line for a scheduler, and what is wrong with a call, in one line."""
    (workdir / "sacct.txt").write_text("JobID|State\n")
    record(workdir / "good.txt", 40)
    ran = run("study", *arguments.split(), "-q", status=status)
    written = "-o out" in arguments
    assert said in ran.output and (ran.output.count("\n") == 1 or written)
    assert (workdir / "out" / "runs" / "fifo.log").exists() == written


def test_options_of_policies_and_nodes_on_the_command_line(workdir: Path) -> None:
    """Policies with options are rows under their options; each change of the nodes has its rows."""
    record(workdir / "good.txt", 60)
    call = ["good.txt", "--timezone", "UTC", "--no-bounds", "-q", "--json"]
    call += ["-p", "fair_share half_life=600 by=account", "--ran", "backfill conservative=true"]
    found = json.loads(run("study", *call, "--add-nodes", "1:s2", "--remove-nodes", "s2").output)
    ran, other = "as ran: backfill conservative=True", "fair_share half_life=600 by=account"
    assert [row["policy"] for row in found["table"]] == ["recorded", ran, other]
    rows = [(row["change"], row["policy"], row["nodes"]) for row in found["nodes"]]
    changes = [("as recorded", 2), ("1 more as s2", 3), ("s2 removed", 1)]
    assert rows == [(change, name, n) for change, n in changes for name in (ran, other)]


@pytest.mark.slow
def test_a_killed_study_goes_on(tmp_path: Path) -> None:
    """Killed in the middle of a simulation, the same command ends with the figures of one run."""
    record(tmp_path / "sacct.txt", 1500)
    call = [sys.executable, "-m", "dlsched", "study", "sacct.txt", "-p", "fifo", "-p", "srsf"]
    call += ["--timezone", "UTC", "--no-bounds", "-q"]
    process = subprocess.Popen([*call, "-o", "killed"], cwd=tmp_path)
    log = tmp_path / "killed" / "runs" / "srsf.log"
    while process.poll() is None and not (log.exists() and log.stat().st_size > 20_000):
        time.sleep(0.05)
    process.kill()
    assert process.wait() != 0
    for folder in ("killed", "whole"):
        subprocess.run([*call, "-o", folder], cwd=tmp_path, check=True, capture_output=True)
    again, whole = (tmp_path / folder / "table.csv" for folder in ("killed", "whole"))
    assert again.read_bytes() == whole.read_bytes()
