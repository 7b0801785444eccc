"""What tests of sweeps call: sweeps that are observed, and what they have stored."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from dlsched.sweeps import Store, run_suite

TIMES = {
    "build_seconds", "solve_seconds", "check_seconds", "seconds", "run_seconds",
    "peak_memory_bytes", "started", "record",
}  # fmt: skip
RUNS = 100
"""Runs of the sweep in the fixture `folder`."""
Rows = list[dict[str, Any]]


def made(*arguments: Any, **options: Any) -> Rows:
    """Make a sweep; return the rows that were made, in the order of their arrival."""
    rows: Rows = []
    run_suite(*arguments, on_row=lambda row, left: rows.append(row), **options)
    return rows


def stored(out: str | Path = "out") -> Rows:
    """Return a sweep's rows."""
    with Store(out) as store:
        return store.rows()


def settled(out: str | Path = "out") -> Rows:
    """Return a sweep's rows without times, memory and moments."""
    return [{k: v for k, v in row.items() if k not in TIMES} for row in stored(out)]


def returned(out: str | Path = "out") -> list[list[str]]:
    """Return which servers each stored solution of a sweep returns."""
    with Store(out) as store:
        files = [store.solution_file(row["solution_sha256"]) for row in store.rows()]
    return [json.loads(gzip.decompress(file.read_bytes()))["returned"] for file in files]
