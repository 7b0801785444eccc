"""A record of a real Slurm on this machine, where one is installed: nothing else decided its waits.

The scripts that start it are not a part of dlsched: they are found in a folder ``shared/slurm``
beside the checkout, or beside a folder above it, or in that which `DLSCHED_SLURM` names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import dlsched
from calls import run
from dlsched.records import read_history

pytestmark = pytest.mark.slow
PROGRAMS = ("slurmctld", "slurmd", "slurmdbd", "sacct", "sbatch", "mariadbd", "munge")
SUBMITTING = 90
"""Seconds for which jobs are submitted."""


def scripts() -> Path | None:
    """Return the folder with the scripts, if there is one."""
    named = os.environ.get("DLSCHED_SLURM")
    above = [parent / "shared" / "slurm" for parent in Path(__file__).resolve().parents[2:]]
    places = [Path(named)] if named else above
    return next((place for place in places if (place / "start").is_file()), None)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Start Slurm, and end it; skip where it is not installed, fail where it does not start."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        pytest.skip(f"Slurm is not installed here: {', '.join(missing)} missing")
    place = scripts()
    if place is None or os.geteuid() != 0:
        pytest.skip("no folder shared/slurm beside the checkout, or this is not root")
    if subprocess.run(["sinfo"], capture_output=True, check=False).returncode == 0:
        pytest.skip("a Slurm runs here already: this test does not disturb it")
    folder = tmp_path_factory.mktemp("slurm")
    # To a file, as the daemons that it leaves behind would hold a pipe open.
    printed = folder / "start.txt"
    with printed.open("w") as lines:
        started = subprocess.run([place / "start", folder], stdout=lines, stderr=lines, check=False)
    try:
        ready = subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, check=False)
        assert started.returncode == 0 and b"idle" in ready.stdout, printed.read_text()
        yield place
    finally:
        subprocess.run(["scancel", "-u", "root"], capture_output=True, check=False)
        subprocess.run([place / "stop", folder], capture_output=True, check=False)


def test_a_real_record_is_explained(slurm: Path, tmp_path: Path) -> None:
    """Its replay agrees, and nearly all of its waiting is explained; backfill comes near it."""
    subprocess.run([slurm / "submit", str(SUBMITTING)], check=True, capture_output=True)
    time.sleep(60)
    line = run("study", "--command", "slurm").output.partition(" > ")[0]
    line = line.replace("2026-01-01", "now-1hour")
    printed = subprocess.run(line, shell=True, capture_output=True, text=True, check=True)
    path = tmp_path / "sacct.txt"
    path.write_text(printed.stdout)
    history = read_history(path, "sacct", timezone="UTC")
    made = dlsched.study(history, ["fifo", "backfill"], delay=2)
    assert len(made.recorded.jobs) >= 10
    assert made.check, made.check
    assert made.explained.share >= 0.9
    assert made.supported
    assert made.limits[0].mean_jct <= made.table["mean_jct"].min()
