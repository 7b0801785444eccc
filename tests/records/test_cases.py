"""Small records that once went wrong, and files of others: what is read, and what is said."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from record_files import shared

from dlsched import InstanceError, read_history
from dlsched.records import read_trace

FOLDER = Path(__file__).with_name("cases")
CASES: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("cases.json").read_text())
"""By file and a word: options; jobs as id, GPUs, type, wait or duration, nodes; what is said."""


def told(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return what is read of a case, and all that is said."""
    file, _, word = name.partition(" ")
    if word.startswith("trace"):
        trace = read_trace(FOLDER / file, **options)
        jobs = [f"{j.id} {j.gpus} {j.gpu_type} {float(j.duration):g}" for j in trace.jobs]
        return {"jobs": jobs, "said": " | ".join(trace.notes)}
    nodes = options.pop("nodes", None)
    history = read_history(FOLDER / file, nodes=nodes and FOLDER / nodes, **options)
    rows = history.jobs.to_dict("records")
    jobs = [
        f"{r['id']} {r['gpus']} {r['gpu_type']} {r['start'] - r['submit']:g} "
        + " ".join(f"{node}:{amount}" for node, amount in r["nodes"])
        for r in rows
    ]
    dropped = (f"{r['id']} {r['reason']}" for r in history.dropped.to_dict("records"))
    said = " | ".join([*history.warnings, *history.notes, *dropped])
    return {"jobs": jobs, "said": said, "explained": round(history.explained.share, 2)}


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_read_right(name: str) -> None:
    """Jobs, and the share of their waits that is explained; notes and errors say what they must."""
    case = dict(CASES[name])
    said = case.pop("said", "")
    try:
        found = told(name, dict(case.pop("options", {})))
    except InstanceError as error:
        found = {"said": str(error)}
    assert said in found.pop("said") and found == case


@pytest.mark.parametrize(
    ("name", "gpus", "submit", "model"),
    [
        ("openb_gpuspec33.csv", "num_gpu", "creation_time", None),
        ("chronus_philly_mix1_2000rows_minutes.csv", "num_gpu", "submit_time", None),
        ("tiresias_60_job.csv", "num_gpu", "submit_time", None),
        ("pollux_workload.csv", "num_replicas", "time", "application"),
        ("gavel_artifact.trace", 6, 9, 0),
        ("shockwave_120.trace", 6, 11, None),
    ],
)
def test_public_files_are_what_pandas_reads(name: str, gpus: Any, submit: Any, model: Any) -> None:
    """GPUs and submissions add up to what a few lines of pandas say of the same rows."""
    path = shared(f"records/{name}")
    form: Any = {"sep": "\t", "header": None} if path.suffix == ".trace" else {}
    frame = pd.read_csv(path, **form)
    seconds = None if model is None else dict.fromkeys(frame[model].unique(), 0.5)
    trace = read_trace(path, seconds=seconds)
    if "scheduled_time" in frame:
        frame = frame[frame["scheduled_time"].notna()]
    assert len(trace.jobs) == len(frame)
    assert sum(job.gpus for job in trace.jobs) == frame[gpus].sum()
    unit = 60 if "minutes" in name else 1
    assert sum(job.submit for job in trace.jobs) == unit * frame[submit].sum()
