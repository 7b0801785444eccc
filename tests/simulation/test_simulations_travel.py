"""A simulation leaves its thread and its process: summary, jobs, rounds and audit are the same."""

import copy
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from simulation_cases import profiled_case

from dlsched.simulation import Simulation, simulate

CASE = profiled_case(3)


def view(run: Simulation) -> dict[str, Any]:
    """Return what is read of a simulation."""
    return {
        "summary": run.summary,
        "jobs": run.jobs.to_dict("list"),
        "rounds": run.rounds.to_dict("list"),
        "audit": bool(run.audit()),
        "bound": run.bound("makespan"),
        "settings": (run.meta["policy"], run.cluster, run.workload),
    }


@pytest.fixture(params=["memory", "file"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Simulation:
    """A simulation whose log is in memory, or in a file."""
    log = None if request.param == "memory" else tmp_path / "run.sqlite"
    return simulate(*CASE, "srtf", log=log)


def test_threads_share_a_simulation(run: Simulation) -> None:
    """One that was made in this thread, and one that was made in another."""
    begin = threading.Barrier(4)

    def read() -> dict[str, Any]:
        begin.wait()
        return view(run)

    with ThreadPoolExecutor(4) as pool:
        views = [future.result() for future in [pool.submit(read) for _ in range(4)]]
        made = pool.submit(partial(simulate, *CASE, "srtf")).result()
    assert {repr(each) for each in views} == {repr(view(run))}
    assert made.jobs.equals(run.jobs)


def test_a_simulation_is_copied_and_pickled(run: Simulation) -> None:
    """Before and after it was read; the log's file may be gone, as on another host."""
    before, copied = pickle.dumps(run), copy.deepcopy(run)
    expected = repr(view(run))
    after = pickle.dumps(run)
    run.log.close()
    assert [repr(view(other)) for other in map(pickle.loads, (before, after))] == [expected] * 2
    assert repr(view(copied)) == expected


def test_another_process_returns_a_simulation() -> None:
    """Its workload and cluster have travelled there, after they were simulated here."""
    here = simulate(*CASE, "srtf")
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        there = pool.submit(simulate, here.workload, here.cluster, "srtf").result()
    assert there.jobs.equals(here.jobs) and there.audit()
