"""``dlsched simulate`` on a scheduler's record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from calls import refusal, run

HEADER = "JobID|User|Partition|State|Submit|Start|End|Elapsed|Timelimit|NodeList|AllocTRES|JobName"


def record(path: Path) -> str:
    """Write a record of two jobs on one node of 4 GPUs, of which the second waits; return it."""
    rows = [
        "1|a|gpu|COMPLETED|2026-01-08T10:00:00|2026-01-08T10:00:00|2026-01-08T11:00:00|01:00:00|"
        "02:00:00|n1|gres/gpu=4|x",
        "2|b|gpu|COMPLETED|2026-01-08T10:10:00|2026-01-08T11:00:00|2026-01-08T11:30:00|00:30:00|"
        "02:00:00|n1|gres/gpu=1|y|z",
    ]
    path.write_text("\n".join([HEADER, *rows]))
    return str(path)


def data(*arguments: str) -> Any:
    """Run a command with --json and return what it wrote."""
    return json.loads(run(*arguments, "--json").stdout)


def test_a_record_is_found_out_and_simulated(tmp_path: Path) -> None:
    """Jobs, nodes and waits are those of the record; what is assumed is noted."""
    path = record(tmp_path / "sacct.txt")
    found = data("simulate", path, "--policy", "recorded")
    assert (found["jobs"], found["mean_queueing"], found["violations"]) == (2, 1500, 0)
    said = run("simulate", path, "--policy", "backfill", "--timezone", "Europe/Berlin").stderr
    assert "4 on the nodes" in said and "taken as UTC" not in said


def test_flags_of_a_trace_do_not_belong_to_a_record(tmp_path: Path) -> None:
    """Nor those of a record to a trace; the error says which."""
    path = record(tmp_path / "sacct.txt")
    assert "--servers does not belong to a scheduler's record" in refusal(
        "simulate", path, "--policy", "fifo", "--servers", "4"
    )
    assert "--knows belongs to a scheduler's record" in refusal(
        "simulate", "sample-philly", "--policy", "fifo", "--knows", "truth"
    )


def test_columns_of_a_trace_are_named(tmp_path: Path) -> None:
    """As for generate, a table of jobs is read by its columns; too large jobs are left out."""
    path = tmp_path / "jobs.csv"
    path.write_text("job,n,at,run\na,1,0,10\nb,99,0,10\n")
    named = ("id=job", "gpus=n", "submit=at", "duration=run")
    flags = [part for pair in named for part in ("--column", pair)]
    finished = run("simulate", str(path), "--policy", "fifo", "--servers", "1", *flags, "--json")
    assert json.loads(finished.stdout)["jobs"] == 1
    assert "1 job larger than the cluster's 8 GPUs: left out" in finished.stderr
