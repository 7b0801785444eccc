"""Sweeps small enough for a test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dlsched.bench import Store, run_suite

TIMES = {
    "build_seconds", "solve_seconds", "check_seconds", "seconds", "run_seconds",
    "peak_memory_bytes", "started", "record",
}  # fmt: skip

SWEEP = """
name = "sweep"
wall_limit = 60
memory_limit_gib = 2

[[instances]]
generate = "reclaiming"
seeds = [1, 2, 3, 4, 5]
grid = { servers = [5, 6, 7, 8, 9] }

[[methods]]
name = "lyra"

[[methods]]
name = "random"
seeds = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]
"""
"""500 runs."""
Rows = list[dict[str, Any]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a working directory with a suite of 500 runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    return tmp_path


def read_settled(out: str | Path) -> Rows:
    """Return a sweep's rows without times, memory and moments."""
    with Store(out) as store:
        return [{k: v for k, v in row.items() if k not in TIMES} for row in store.rows()]


@pytest.fixture
def settled() -> Callable[[str | Path], Rows]:
    """Give what reads a sweep's rows without times, memory and moments."""
    return read_settled


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """Give the settled rows of the 500 runs, undisturbed."""
    place = tmp_path_factory.mktemp("whole")
    (place / "sweep.toml").write_text(SWEEP)
    run_suite(place / "sweep.toml", place / "out", jobs=2)
    return read_settled(place / "out")
