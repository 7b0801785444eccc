"""Sweeps that are killed, whole or in part, and then resumed, end as if nothing had happened."""

import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from calls import FIG5, MAIN, started, suite_text
from sweeps import Rows, made, rows, settled

SLOW = pytest.mark.slow


@SLOW
@pytest.mark.parametrize("group", [False, True])
def test_killed_runner(group: bool, gated: Path, whole: Rows) -> None:
    """After kill -9 of the runner, or of its process group, its workers end; resuming completes."""
    command = ["bench", "suite.toml", "-o", "out", "-j", "2", "--quiet"]
    runner = started(MAIN, *command, start_new_session=True)
    while len(waiting := list(gated.glob("waiting-*"))) < 2:  # both workers are within a run
        assert runner.poll() is None
        time.sleep(0.02)
    workers = [psutil.Process(int(file.name.partition("-")[2])) for file in waiting]
    if group:
        os.killpg(runner.pid, signal.SIGKILL)
    else:
        runner.kill()
    runner.communicate()
    psutil.wait_procs(workers)
    before = [kept["key"] for kept in rows()]
    assert 12 <= len(before) < len(whole)
    Path("open").touch()
    again = [new["key"] for new in made(jobs=2, resume=True)]
    assert sorted([*before, *again]) == sorted(kept["key"] for kept in whole)
    assert settled() == whole


DIES = """
import os
from pathlib import Path

def f(instance, rng):
    file = Path(os.environ["DEATHS"])
    number, _, later = file.read_text().partition(", ")
    file.write_text(later)
    if number:
        os.kill(os.getpid(), int(number))
    return {"returned": [server.id for server in instance.servers[: instance.demand]]}
"""


@pytest.mark.parametrize(
    ("deaths", "reason"),
    [
        ("9", "finished"),
        pytest.param("9, 15", "by SIGTERM", marks=SLOW),
        pytest.param("15, 9, 9", "by SIGKILL", marks=SLOW),
    ],
)
def test_killed_workers(
    deaths: str, reason: str, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run whose worker is killed is made again, else is a row, and made by resuming."""
    monkeypatch.setenv("DEATHS", str(workdir / "deaths"))
    Path("deaths").write_text(deaths)
    Path("mine_dies.py").write_text(DIES)
    Path("suite.toml").write_text(suite_text(FIG5, "lyra", "mine_dies:f", "scf"))
    made(retries=1)
    status = "feasible" if reason == "finished" else "killed"
    assert [row["status"] for row in rows()] == ["feasible", status, "feasible"]
    assert rows()[1]["reason"] == reason
    assert len(made(resume=True)) == (status == "killed")
    assert [row["status"] for row in rows()] == ["feasible"] * 3


LARGE = """
import numpy as np

def f(instance, rng):
    kept = np.ones(100_000_000)
    return {"returned": [s.id for s in instance.servers][: instance.demand + int(kept[0]) - 1]}
"""
"""Holds 800 MB, which is more than a run may take, or not."""


@SLOW
def test_memory_of_the_machine(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run above its share of a Slurm job is killed, and made again where there is more memory."""
    Path("mine_large.py").write_text(LARGE)
    Path("suite.toml").write_text(suite_text(FIG5, "lyra", "mine_large:f"))
    with monkeypatch.context() as patch:
        for name, value in (("JOB_ID", "7"), ("MEM_PER_CPU", "300"), ("CPUS_ON_NODE", "2")):
            patch.setenv(f"SLURM_{name}", value)
        made(retries=0)
    assert [row["status"] for row in rows()] == ["feasible", "killed"]
    assert "above 0.53 GiB, this machine's share for a run" in rows()[1]["reason"]
    assert [row["status"] for row in made(resume=True)] == ["feasible"]
