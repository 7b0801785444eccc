"""The files of a study, and its command."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from study_cases import record

import dlsched
from calls import data, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a study."""
    path = tmp_path_factory.mktemp("files")
    made = dlsched.study(record(path / "sacct.txt", 60), ["backfill", "srsf"], bounds=False)
    names = {file.name for file in made.save(path / "out")}
    pictures = {f"{name}.svg" for name in ("queue", "held", "waits", "day-recorded", "day-policy")}
    tables = {"study.html", "study.json", "jobs.csv", "dropped.csv", "table.csv"}
    assert names == pictures | tables
    return path / "out"


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
    assert page.count("<svg") == 5
    assert 0 < page.index('class="verdict') < page.index("<table") < page.index("<svg")


def test_figures_as_json_and_csv(folder: Path) -> None:
    """study.json has the table and all groups; jobs.csv a row per job with each policy's wait."""
    data = json.loads((folder / "study.json").read_text())
    assert data["dlsched_study"] == 1
    assert data["explained"]["share"] == 1 and data["check"]["feasible"] is True
    assert [row["policy"] for row in data["table"]][:3] == ["recorded", "backfill", "srsf"]
    assert set(data["by"]) == {"user", "account", "partition", "size"}
    rows = list(csv.DictReader((folder / "jobs.csv").read_text().splitlines()))
    assert len(rows) == 60
    mean = sum(float(row["wait srsf"]) for row in rows) / 60
    assert mean == pytest.approx(data["table"][2]["mean_wait"])


def test_pictures_are_files(folder: Path) -> None:
    """Each picture is an SVG file of its own, of a size that does not grow with the jobs."""
    for path in folder.glob("*.svg"):
        text = path.read_text()
        assert text.startswith("<?xml") and len(text) < 200_000


def test_the_command(workdir: Path) -> None:
    """`dlsched study` prints the verdict and writes the files; called again it goes on."""
    record(workdir / "sacct.txt", 40)
    line = ["study", "sacct.txt", "-p", "fifo", "--timezone", "UTC", "-q", "--no-bounds"]
    assert run(*line, "-o", "out").stdout.startswith("The record waits ")
    assert (workdir / "out" / "study.html").exists()
    assert (workdir / "out" / "runs" / "fifo.log").exists()
    assert data(*line)["verdict"]["supported"] is True


@pytest.mark.parametrize(
    ("arguments", "said", "status"),
    [
        ("--command slurm", "TZ=UTC SLURM_TIME_FORMAT=standard sacct -a -X -P -D", 0),
        ("--command slrm", "did you mean 'slurm'", 2),
        ("", "name the file of the record", 2),
        ("none.txt", "none.txt: cannot be read", 2),
        ("sacct.txt --columns submit=a,b", "'b' names no column; write FIELD=COLUMN", 2),
        ("sacct.txt -o sacct.txt", "it is a file: name a folder", 2),
    ],
)
def test_what_the_command_says(arguments: str, said: str, status: int, workdir: Path) -> None:
    """The line for a scheduler, and what is wrong with a call, in one line."""
    (workdir / "sacct.txt").write_text("JobID|State\n")
    ran = run("study", *arguments.split(), "-q", status=status)
    assert said in ran.output and ran.output.count("\n") == 1


@pytest.mark.slow
def test_a_killed_study_goes_on(tmp_path: Path) -> None:
    """Killed in the middle of a simulation, the same command ends with the figures of one run."""
    record(tmp_path / "sacct.txt", 4000)
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
