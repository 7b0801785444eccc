"""Good documents to spoil, and what tries them."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from typing import Any

import pytest
from typer.testing import CliRunner

import dlsched
from dlsched.cli import app

GOOD: dict[str, Any] = {
    "dlsched": 1,
    "problem": "reclaiming",
    "name": "good",
    "demand": 1,
    "servers": [{"id": "s1", "gpus": 8}, {"id": "s2", "gpus": 4}],
    "jobs": [
        {
            "id": "a",
            "weight": 1.5,
            "workers": [{"server": "s1", "gpus": 4}, {"server": "s2", "gpus": 4, "flexible": True}],
        },
        {"id": "b", "workers": [{"server": "s1", "gpus": 2}]},
    ],
}
SOLUTION: dict[str, Any] = {
    "dlsched": 1,
    "problem": "reclaiming",
    "instance": "good",
    "returned": ["s1"],
}
TEXT = json.dumps(GOOD)
ELASTIC: dict[str, Any] = {
    "dlsched": 1,
    "problem": "elastic",
    "name": "epoch",
    "capacity": 9,
    "jobs": [
        {
            "id": "A",
            "gpus_per_worker": 2,
            "min_workers": 2,
            "max_workers": 3,
            "min_running_time": 99.5,
        },
        {
            "id": "B",
            "gpus_per_worker": 1,
            "min_workers": 1,
            "max_workers": 2,
            "running_times": [150, 100],
            "running": True,
        },
    ],
}


def swap(old: str, new: str) -> bytes:
    """Return the good instance's text with one piece replaced."""
    assert TEXT.count(old) == 1, old
    return TEXT.replace(old, new).encode()


def without(field: str) -> bytes:
    """Return the good instance's text without one of its fields."""
    return json.dumps({k: v for k, v in GOOD.items() if k != field}).encode()


def elastic(job: int, **changes: Any) -> bytes:
    """Return the elastic instance's text with fields of one job changed, or dropped if None."""
    jobs = [dict(entry) for entry in ELASTIC["jobs"]]
    jobs[job] = {k: v for k, v in (jobs[job] | changes).items() if v is not None}
    return json.dumps(ELASTIC | {"jobs": jobs}).encode()


def refuse(source: str, path: str, words: str, where: str | None = None) -> None:
    """Assert that Python and the command line refuse a source in the same one line."""
    with pytest.raises(dlsched.InstanceError) as caught:
        dlsched.load(source)
    error = caught.value
    assert (error.where, error.path) == (where or source, path)
    assert words in str(error)
    assert error.remedy and "\n" not in str(error) and len(str(error)) < 600
    ran = CliRunner().invoke(app, ["show", source])
    assert ran.exit_code == 2
    assert ran.stdout == ""
    assert ran.stderr == f"error: {error}\n"


MEGABYTES = 200

LIMIT_SECONDS = 20


def limited() -> None:
    """Allow the child 2 GiB of address space and a bounded time."""
    resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_SECONDS, LIMIT_SECONDS))


def command(*arguments: str, bounded: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the command line as a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", "from dlsched.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=limited if bounded else None,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
