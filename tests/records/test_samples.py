"""Every shipped trace gives the jobs and counts that it always gave."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from dlsched import read_history
from dlsched.records import read_trace

EXPECTED: dict[str, Any] = json.loads(Path(__file__).with_name("samples.json").read_text())
"""By sample and option: jobs, digest and notes, by the readers of 27 November 2026."""
SEREN = Path(__file__).parents[2] / "instances/traces/samples/acme/trace_seren.csv"
FIELDS = "id gpus submit duration iterations model batch_size interval iteration_time stages "
FIELDS += "priority eligible start user account partition gpu_type limit nodes state"
COLUMNS = "id user account partition gpus gpu_type submit eligible start end state limit nodes"
OPTIONS: dict[str, Any] = {"": {}, "gpus": {"min_gpus": 1}}
OPTIONS |= {rule: {"fractional": rule} for rule in ("total", "drop")}


@pytest.mark.parametrize("name", EXPECTED)
def test_every_sample_gives_the_same_jobs(name: str) -> None:
    """Number, digest of all fields, and notes; of a history, the capacity."""
    source, _, option = name.partition(" ")
    source = str(SEREN) if source == "seren" else source
    if option == "history":
        history = read_history(source)
        table = history.jobs[COLUMNS.split()].astype(object).to_numpy().tolist()
        said: Any = history.capacity.total
    else:
        trace = read_trace(source, **OPTIONS[option])
        table = [[getattr(job, field) for field in FIELDS.split()] for job in trace.jobs]
        said = list(trace.notes)
    rows = [[str(cell) for cell in row] for row in table]
    digest = hashlib.sha256(repr(rows).encode()).hexdigest()[:16]
    assert [len(rows), digest, said] == EXPECTED[name]
