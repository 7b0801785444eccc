"""Random traces, and those that are shipped: made by this project, and solved as documented."""

import gzip
import re
import runpy
import shutil
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import dlsched
from calls import run
from dlsched.records import read_trace, synthesise, write_trace
from dlsched.simulation import snapshot
from dlsched.testing import oracles

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "instances" / "traces" / "synthetic-1.csv.gz"
SIZES = {1: 0.34, 2: 0.12, 4: 0.17, 6: 0.03, 8: 0.18, 12: 0.04, 16: 0.07, 32: 0.05}
"""GPUs per job and their shares, as stated."""


def test_the_shipped_trace_is_made_again_byte_by_byte(tmp_path: Path) -> None:
    """The text is compared, not the gzip stream, in which compressors differ; so are the jobs."""
    made = synthesise(seed=1)
    write_trace(made, tmp_path / "made.csv")
    assert gzip.decompress(SHIPPED.read_bytes()) == (tmp_path / "made.csv").read_bytes()
    assert read_trace(SHIPPED).jobs == made.jobs
    shipped = read_trace("synthetic-1")
    assert (shipped.name, len(shipped.jobs)) == ("synthetic-1", 1500)
    assert shipped.source == "read_trace('synthetic-1')"


def test_the_statistics_are_those_stated() -> None:
    """Shares of sizes, the load, the weekend's rest, the tail of durations, whole iterations."""
    made = synthesise(seed=3, jobs=6000, days=28, busy_gpus=500)
    assert synthesise(seed=3, jobs=9) != synthesise(seed=4, jobs=9)
    sizes = Counter(job.gpus for job in made.jobs)
    for size, share in SIZES.items():
        assert sizes[size] / 6000 == pytest.approx(share, abs=0.02)
    work = sum(job.gpus * float(job.duration) for job in made.jobs)
    assert work / (28 * 86400) == pytest.approx(500, rel=1e-3)
    weekend = sum(float(job.submit) // 86400 % 7 >= 5 for job in made.jobs)
    assert weekend / 6000 == pytest.approx(1 / 6, abs=0.02)
    durations = [float(job.duration) for job in made.jobs]
    assert max(durations) / statistics.median(durations) == pytest.approx(6, rel=0.1)
    for job in made.jobs[:200]:
        assert job.iterations is not None
        assert job.iteration_time == sum(job.stages)
        assert job.duration == job.iterations * sum(job.stages)
        assert (job.stages[2] == 0) == (job.gpus == 1)  # one GPU sends nothing


FOLDER = SHIPPED.parent / "samples"
JOBS = {"philly": 38, "helios": 40, "acme": 39, "pai": 39, "openb": 37}


def test_samples_are_what_make_writes(tmp_path: Path) -> None:
    """Nothing in a sample comes from elsewhere: every byte is made by the program beside it."""
    program = shutil.copy(FOLDER / "make.py", tmp_path)
    runpy.run_path(program, run_name="__main__")
    made = {p.relative_to(tmp_path): p for p in tmp_path.rglob("*") if p.parent != tmp_path}
    files = (p for p in FOLDER.rglob("*/*") if p.is_file() and p.parent.name != "__pycache__")
    there = {p.relative_to(FOLDER) for p in files}
    assert {name for name, p in made.items() if p.is_file()} == there
    for name in there:
        assert (FOLDER / name).read_bytes() == made[name].read_bytes(), name


def test_the_other_cluster_of_acme() -> None:
    """Both of Acme's tables are read, and their jobs last as long, whatever their columns say."""
    seren = read_trace(FOLDER / "acme" / "trace_seren.csv")
    kalos = read_trace("sample-acme")
    both = {j.id[-5:]: j for j in kalos.jobs}
    assert len(seren.jobs) == 40
    for job in seren.jobs:
        other = both.get(f"{int(job.id) - 700000:05x}")
        assert other is None or other.duration == job.duration


def test_the_command_reads_as_python_does(tmp_path: Path) -> None:
    """Each flag is what its option is in Python; notes go to stderr, a line each."""
    line = (
        "generate reclaiming --trace sample-pai --at 2h --servers 4 --format pai --no-plausibility"
    )
    flags = "--cluster T4 --cluster V100 --state Terminated --fractional drop -o"
    ran = run(*line.split(), *flags.split(), tmp_path / "moment.json")
    options: Any = {"states": ["Terminated"], "clusters": ["T4", "V100"], "fractional": "drop"}
    trace = read_trace("sample-pai", **options)
    expected: Any = snapshot(trace, "2h", servers=4).reclaiming
    made: Any = dlsched.load(tmp_path / "moment.json")
    assert made.jobs == expected.jobs and len(made.jobs) > 0
    notes = [text for text in ran.stderr.splitlines() if text.startswith("note: ")]
    assert notes == [f"note: sample-pai: {note}" for note in trace.notes] and notes


@pytest.mark.parametrize("kind", JOBS)
def test_from_a_sample_to_an_optimum(kind: str) -> None:
    """A moment becomes an instance, whose proved optimum is what brute force finds.

    The format is found out by content, and said or not, the jobs are the same.
    """
    name = f"sample-{kind}"
    trace = read_trace(name)
    assert (trace.name, len(trace.jobs)) == (name, JOBS[kind])
    assert trace.source == f"read_trace('{name}')"
    assert read_trace(name, kind).jobs == trace.jobs
    instance = snapshot(trace, "3h", servers=4).instance("reclaiming", demand=2)
    best, result = oracles.reclaiming(instance), dlsched.solve(instance)
    assert best.preempted >= 2 and result.status == "optimal" and result.objective == best


def test_the_tutorials_session_is_as_printed(workdir: Path) -> None:
    """Its commands make an instance from a sample and solve it."""
    page = (ROOT / "docs" / "tutorials" / "traces.md").read_text()
    session = re.findall(r"^```console\n(.*?)^```$", page, re.M | re.S)[0]
    typed, printed = session.replace("\\\n> ", "").split("\n", 1)
    shown = "".join(run(*line.split()[1:]).output for line in typed[2:].split(" && "))
    assert {*printed.splitlines()} - {"..."} <= {*shown.splitlines()}
