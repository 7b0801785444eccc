"""Good documents, what changes them, and what must be raised for a bad one."""

from __future__ import annotations

import json
from typing import Any

SPREAD = [{"server": "s1", "gpus": 4}, {"server": "s2", "gpus": 4, "flexible": True}]
GOOD: dict[str, Any] = {
    "dlsched": 1,
    "problem": "reclaiming",
    "name": "good",
    "demand": 1,
    "servers": [{"id": "s1", "gpus": 8}, {"id": "s2", "gpus": 4}],
    "jobs": [
        {"id": "a", "weight": 1.5, "workers": SPREAD},
        {"id": "b", "workers": [{"server": "s1", "gpus": 2}]},
    ],
}
SOLUTION = {"dlsched": 1, "problem": "reclaiming", "instance": "good", "returned": ["s1"]}
TEXT = json.dumps(GOOD)
RANGE = {"gpus_per_worker": 2, "min_workers": 2, "max_workers": 3, "min_running_time": 99.5}
TABLE = {"gpus_per_worker": 1, "min_workers": 1, "max_workers": 2, "running_times": [150, 100]}
ELASTIC: dict[str, Any] = {
    "dlsched": 1,
    "problem": "elastic",
    "name": "epoch",
    "capacity": 9,
    "jobs": [{"id": "A"} | RANGE, {"id": "B"} | TABLE | {"running": True}],
}


def swap(old: str, new: str) -> bytes:
    """Return the good instance's text with one piece replaced."""
    assert TEXT.count(old) == 1, old
    return TEXT.replace(old, new).encode()


def good(**changes: Any) -> bytes:
    """Return the good instance's text with other fields, or without those that are None."""
    return json.dumps({k: v for k, v in (GOOD | changes).items() if v is not None}).encode()


def elastic(job: int, **changes: Any) -> bytes:
    """Return the elastic instance's text with fields of one job changed, or dropped if None."""
    jobs = [dict(entry) for entry in ELASTIC["jobs"]]
    jobs[job] = {k: v for k, v in (jobs[job] | changes).items() if v is not None}
    return json.dumps(ELASTIC | {"jobs": jobs}).encode()
