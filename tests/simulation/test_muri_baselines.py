"""Themis as compared in Muri's evaluation, on cases worked out by hand."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulation_cases import audited, by_hand, ends, profiled_case

from dlsched import OptionError, UnknownName
from dlsched.simulation import Cluster, Workload, simulate
from dlsched.simulation.engine import engine
from dlsched.simulation.log import COMPARED
from dlsched.simulation.measures.finish_times import least_ratio_shares

jobs = partial(by_hand, work=12)


def run(workload: Workload, policy: Any, servers: int = 1, gpus: int = 1, **options: Any) -> Any:
    """Simulate, audit, and return the simulation."""
    return audited(workload, Cluster.uniform(servers, gpus), policy, **options)


def test_antman_is_the_authors_own() -> None:
    """The policy that was made up from the text is gone; the message says where the other is."""
    with pytest.raises(UnknownName, match="benchmarks/published"):
        simulate(jobs({}), Cluster.uniform(1, 1), "antman")


def test_a_simulation_stopped_at_every_commit_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The times with a fair share are in the log."""
    monkeypatch.setattr(engine, "COMMIT_ROWS", 15)
    workload, cluster = profiled_case(7)

    def interrupt(*_: int) -> None:
        raise KeyboardInterrupt

    tries = 0
    while tries < 100:
        try:
            done = simulate(workload, cluster, "themis", log=tmp_path / "log", resume=True,
                            on_progress=interrupt)  # fmt: skip
            break
        except KeyboardInterrupt:
            tries += 1
    assert tries >= 2
    whole = simulate(workload, cluster, "themis")
    assert all(done.log.rows(table) == whole.log.rows(table) for table in COMPARED)


def test_themis_takes_turns() -> None:
    """Equal jobs on one GPU: the one that ran less goes on, in leases of 4 s."""
    two = jobs({}, {})
    done = run(two, "themis", interval=4)
    rows = [(row[0], row[1] / 1e6, row[2] / 1e6) for row in done.log.rows("segments")]
    assert sorted(rows, key=lambda row: row[1]) == [
        (0, 0, 4), (1, 4, 8), (0, 8, 12), (1, 12, 16), (0, 16, 20), (1, 20, 24)
    ]  # fmt: skip
    assert ends(done) == [20, 24]


def test_themis_prefers_the_job_that_is_behind_its_fair_share() -> None:
    """A short job that comes to a long one runs first: its ratio would rise fastest."""
    done = run(jobs({"work": 100}, {"work": 10, "submit": 10}), "themis", interval=1000)
    assert ends(done) == [110, 20]


def test_themis_refuses_an_interval_of_nothing() -> None:
    """Leases take time."""
    with pytest.raises(OptionError, match="interval=0"):
        simulate(jobs({}), Cluster.uniform(1, 1), "themis", interval=0)


def test_themis_shares_have_equal_ratios() -> None:
    """Jobs below a whole share have the same ratio, others a larger one; all GPUs are used."""
    rng = np.random.default_rng(0)
    waited, remaining = rng.uniform(0, 50, 40), rng.uniform(1, 100, 40)
    fair, gpus = rng.uniform(50, 200, 40), rng.integers(1, 9, 40)
    shares = least_ratio_shares(waited, remaining, fair, gpus, 64)
    ratios = (waited + remaining / shares) / fair
    partial = shares < 1
    assert partial.any() and not partial.all()
    assert ratios[partial] == pytest.approx(ratios[partial].max())
    assert ratios[~partial].min() >= ratios[partial].max()
    assert gpus @ shares == pytest.approx(64)
    assert (least_ratio_shares(waited[:4], remaining[:4], fair[:4], gpus[:4], 64) == 1).all()
