"""Records of clusters: what they explain, and what policies would have done.

`excerpts` needs those of real records in ../shared/data/history.
"""

from collections.abc import Iterator
from typing import Any

from code_version import ROOT
from runs import Row

import dlsched

EXCERPTS = ROOT.parent / "shared" / "data" / "history"
POLICIES = ["fifo", "backfill", "srsf", "muri_s"]
SHOWN = {"mean wait, s": "mean_wait", "p95 wait, s": "p95_wait", "mean completion, s": "mean_jct",
         "saved, s": "saved_wait", "later": "later"}  # fmt: skip


def studied(label: str, history: dlsched.History, **options: Any) -> Iterator[Row]:
    """Yield a record's study: a row for each policy, and one of the record."""
    study = dlsched.study(history, POLICIES, **options)
    for row in study.table.itertuples():
        values = {head: getattr(row, name) for head, name in SHOWN.items()}
        yield {"record": label, "policy": row.policy} | values | {"gap, %": 100 * row.gap}
    yield {
        "table": "records", "record": label, "jobs": len(history.jobs),
        "counted": len(study.recorded.jobs), "explained, %": 100 * study.explained.share,
        "replay differs by, s": float(study.check.details["largest_difference"]),
        "the page says": study.verdict.headline,
    }  # fmt: skip


def shipped() -> Iterator[Row]:
    """Yield the samples that come with dlsched."""
    for name in ("sample-philly", "sample-helios"):
        yield from studied(name, dlsched.read_history(name))


def excerpts() -> Iterator[Row]:
    """Yield a record of a public simulator's tests, and one that Slurm wrote of 8 GPUs."""
    path = EXCERPTS / "seth_accasim_25jobs.swf"
    made = dlsched.read_history(path, "swf", resource="cpu", timezone="UTC")
    yield from studied("HPC2N, SWF", made)
    made = dlsched.read_history(EXCERPTS / "sacct_slurm2205_8gpu.txt", "sacct", timezone="UTC")
    yield from studied("Slurm 22.05, 8 GPUs", made)
    slurm = ("backfill", None, {"order": "priority", "conservative": True})
    label = "the same, with Slurm's delay and backfilling"
    yield from studied(label, made, delay=made.explained.delay, ran=slurm)
