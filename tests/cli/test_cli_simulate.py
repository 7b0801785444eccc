"""``dlsched simulate``, on traces and records: what it prints and refuses, that it goes on."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import time
from pathlib import Path
from typing import Any

from calls import MAIN, PATIENCE, refusal, run, started

TRACE = ("simulate", "sample-philly", "--servers", "4")
SYNERGY = "--policy synergy --profiles synergy"


def data(*arguments: str) -> Any:
    """Return what a command writes with --json, whatever it notes beside it."""
    return json.loads(run(*arguments, "--json").stdout)


def test_jobs_together_wait_longer() -> None:
    """With --together all jobs are there from the start, so the makespan is no longer."""
    apart = data(*TRACE, "--policy", "fifo")
    together = data(*TRACE, "--policy", "fifo", "--together")
    assert together["makespan"] < apart["makespan"]
    assert together["mean_queueing"] > apart["mean_queueing"]


def test_profile_options() -> None:
    """With as many CPUs as the jobs want they are faster than in proportion, by their models.

    A limit of the policy's method is an option of the policy.
    """
    sized = (*TRACE, *SYNERGY.split(), "--cpus", "24", "--memory", "500", "--limit", "12")
    images = ("--profile-option", "split=1/0/0", "--profile-option", "cpus_per_gpu=3")
    tuned = data(*sized, *images, "--set", "time_limit=60")
    fair = data(*sized, *images, "--method", "proportional")
    language = data(*sized, "--profile-option", "split=0/1/0")
    assert tuned["violations"] == fair["violations"] == 0 and tuned["completed"] == 12
    assert tuned["mean_jct"] < fair["mean_jct"] == language["mean_jct"]


def test_a_log_is_complete_and_not_overwritten(tmp_path: Path) -> None:
    """A second run refuses the first one's log; with --resume it reads it, unless it is damaged."""
    log = tmp_path / "run.sqlite"
    logged = (*TRACE, "--policy", "srtf", "--log", str(log))
    first = data(*logged)
    rows = sqlite3.connect(log).execute("SELECT count(*) FROM completions").fetchone()
    assert rows == (38,)
    assert "is there already" in refusal(*logged)
    assert data(*logged, "--resume") == first
    other = refusal(*TRACE, "--policy", "srsf", "--log", str(log), "--resume")
    assert "of another simulation: policy differs" in other
    content = bytearray(log.read_bytes())
    content[5000:35_000] = b"x" * 30_000
    log.write_bytes(content)
    damaged = refusal(*logged, "--resume")
    assert "cannot be read (database disk image is malformed); name another file" in damaged


def options_of(policy: str) -> list[str]:
    """Return the options of a policy, as the refusal of an unknown one lists them."""
    said = refusal(*TRACE, "--policy", policy, "--set", "unknown=1")
    return re.findall(r"\w+", said.partition("it has:")[2].partition(";")[0])


def test_options_of_a_policy_are_those_of_its_parents_and_its_solver() -> None:
    """Options that a class passes on can be set where they end; others cannot."""
    solving = {"time_limit", "gap", "threads", "solver"}
    assert set(options_of("synergy")) == {"order", "interval"} | solving
    assert options_of("afs") == options_of("lyra") and "elastic" in options_of("lyra")
    assert options_of("local") == options_of("mast") and "gap" not in options_of("mast")


def test_interrupt(tmp_path: Path) -> None:
    """A simulation that is interrupted has a log, and can go on."""
    log = tmp_path / "log"
    long = ["simulate", "synthetic-1", "--servers", "64", "--policy", "srtf", "--log", str(log)]
    process = started(MAIN, *long, "--quiet")
    while not log.exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "go on with --resume" in " ".join(said.split())


HEADER = "JobID|User|Partition|State|Submit|Start|End|Elapsed|Timelimit|NodeList|AllocTRES|JobName"


ROWS = [
    "1|a|gpu|COMPLETED|2026-01-08T10:00:00|2026-01-08T10:00:00|2026-01-08T11:00:00|01:00:00|"
    "02:00:00|n1|gres/gpu=4|x",
    "2|b|gpu|COMPLETED|2026-01-08T10:10:00|2026-01-08T11:00:00|2026-01-08T11:30:00|00:30:00|"
    "02:00:00|n1|gres/gpu=1|y|z",
]
"""A record of two jobs on one node of 4 GPUs, of which the second waits."""


def test_a_record_is_found_out_and_simulated(tmp_path: Path) -> None:
    """Jobs, nodes and waits are those of the record; what is assumed is noted."""
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join([HEADER, *ROWS]))
    found = data("simulate", str(path), "--policy", "recorded")
    assert (found["jobs"], found["mean_queueing"], found["violations"]) == (2, 1500, 0)
    said = run("simulate", path, "--policy", "backfill", "--timezone", "Europe/Berlin").stderr
    assert "4 on the nodes" in said and "taken as UTC" not in said
    refused = refusal("simulate", path, "--policy", "fifo", "--servers", "4")
    assert "--servers does not belong to a scheduler's record" in refused


def test_columns_of_a_trace_are_named(tmp_path: Path) -> None:
    """As for generate, a table of jobs is read by its columns; too large jobs are left out."""
    path = tmp_path / "jobs.csv"
    path.write_text("job,n,at,run\na,1,0,10\nb,99,0,10\n")
    named = ("id=job", "gpus=n", "submit=at", "duration=run")
    flags = [part for pair in named for part in ("--column", pair)]
    finished = run("simulate", str(path), "--policy", "fifo", "--servers", "1", *flags, "--json")
    assert json.loads(finished.stdout)["jobs"] == 1
    assert "1 job larger than the cluster's 8 GPUs: left out" in finished.stderr
