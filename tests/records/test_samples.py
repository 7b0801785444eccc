"""Every shipped trace gives the jobs and counts that it always gave."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from dlsched import read_history
from dlsched.records import Trace, read_trace

EXPECTED: dict[str, Any] = json.loads(Path(__file__).with_name("samples.json").read_text())
"""By sample: jobs, digests and notes, written by the readers of 27 November 2026."""
SEREN = Path(__file__).parents[2] / "instances/traces/samples/acme/trace_seren.csv"
FIELDS = (
    *("id", "gpus", "submit", "duration", "iterations", "model", "batch_size", "interval"),
    *("iteration_time", "stages", "priority", "eligible", "start", "user", "account"),
    *("partition", "gpu_type", "limit", "nodes", "state"),
)
COLUMNS = (
    *("id", "user", "account", "partition", "gpus", "gpu_type", "submit", "eligible"),
    *("start", "end", "state", "limit", "nodes"),
)
OPTIONS: dict[str, dict[str, Any]] = {
    "": {},
    "-gpus": {"min_gpus": 1},
    "-total": {"fractional": "total"},
    "-drop": {"fractional": "drop"},
}
SAMPLES = ("synthetic-1", *(f"sample-{n}" for n in ("philly", "helios", "acme", "pai", "openb")))


def digest(rows: Any) -> str:
    """Return a digest of some values."""
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:16]


def jobs_of(trace: Trace) -> list[list[str]]:
    """Return the fields of the jobs as texts."""
    return [[str(getattr(job, name)) for name in FIELDS] for job in trace.jobs]


def measured() -> dict[str, Any]:
    """Return what the readers make of every sample."""
    found: dict[str, Any] = {}
    sources = {name: name for name in SAMPLES} | {"seren": str(SEREN)}
    for label, source in sources.items():
        for suffix, options in OPTIONS.items():
            trace = read_trace(source, **options)
            rows = jobs_of(trace)
            found[label + suffix] = [len(rows), digest(rows), list(trace.notes)]
        if label != "synthetic-1":
            history = read_history(source)
            frame = history.jobs[list(COLUMNS)].astype(object)
            rows = [[str(cell) for cell in row] for row in frame.to_numpy().tolist()]
            found[f"{label}-history"] = [len(rows), digest(rows), history.capacity.total]
    return found


@pytest.mark.parametrize("name", EXPECTED)
def test_every_sample_gives_the_same_jobs(name: str) -> None:
    """Number, digest of all fields, and notes."""
    assert measured_once()[name] == EXPECTED[name]


def measured_once(kept: dict[str, Any] = {}) -> dict[str, Any]:  # noqa: B006 - kept on purpose
    """Return what is measured, computed once."""
    if not kept:
        kept.update(measured())
    return kept
