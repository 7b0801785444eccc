"""Misbehaving methods: each run is one row with the right status, and disturbs no other run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import psutil
import pytest

from calls import suite_text
from dlsched.sweeps import recorder, run_suite, worker_process
from sweeps import stored

OWN = r"""
import ctypes, os, signal, subprocess, sys, threading, time
import numpy as np
from dlsched import Claim, Status
from dlsched.problems.reclaiming import Solution

def fine(instance):
    return {"returned": [s.id for s in instance.servers[: instance.demand]]}

def raises(instance, rng):
    raise KeyError("no such server")

def loops(instance, rng):
    while True:
        pass

def ignores_signals(instance, rng):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(60)

def stops_itself(instance, rng):
    os.kill(os.getpid(), signal.SIGSTOP)

def allocates(instance, rng):
    kept = []
    while True:
        kept.append(np.ones(2**22))

def too_much(instance, rng):
    return np.ones(2**45)

def infeasible(instance, rng):
    return Solution(instance=instance.name, returned=["none"])

def false_objective(instance, run):
    return Claim(solution=Solution(instance=instance.name, **fine(instance)), objective=(-1, 0))

def no_solution(instance, rng):
    return None

def exits(instance, rng):
    print("goodbye", flush=True)
    os._exit(7)

def exits_by_exception(instance, rng):
    sys.exit("that is all")

def segfaults(instance, rng):
    ctypes.string_at(0)

def recurses(instance, rng):
    return recurses(instance, rng)

def closes_pipe(instance, rng):
    os.closerange(0, 100)
    time.sleep(60)

def prints(instance, rng):
    print("x" * 100_000)
    os.write(1, b"y" * 100_000)
    return fine(instance)

def prints_bytes(instance, rng):
    for stream in (1, 2):
        os.write(stream, bytes(range(256)) * 100)
    return fine(instance)

def forks(instance, rng):
    os.fork()
    return fine(instance)

def forks_many(instance, rng):
    for _ in range(2):
        os.fork()
    raise ValueError("from one of four processes")

def child_returns(instance, rng):
    if os.fork():
        os._exit(5)
    return fine(instance)

def child_keeps_pipe(instance, rng):
    if os.fork() == 0:
        time.sleep(60)
    os._exit(6)

def leaves_process(instance, rng):
    code = "import time; time.sleep(60)"
    subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    return fine(instance)

def leaves_thread(instance, rng):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    return fine(instance)

def writes_to_pipe(instance, rng):
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, bytes(range(256)) * 800)
        except OSError:
            pass
    return fine(instance)

def keeps_writing(instance, rng):
    threading.Thread(target=write_for_ever, daemon=True).start()
    time.sleep(0.2)
    return fine(instance)

def write_for_ever():
    while True:
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, b"z" * 100)
            except OSError:
                pass

def surrogate(instance, rng):
    raise ValueError("half a pair \ud800 and \x00 and \x1b[31m")

def long_text(instance, rng):
    raise ValueError("x" * 50_000_000)

def silent_error(instance, rng):
    class Odd(Exception):
        def __str__(self):
            raise RuntimeError
    raise Odd

def odd_reason(instance, run):
    return Claim(status=Status.NO_SOLUTION, reason="\udfff" + "y" * 10_000_000)

def changes(instance, rng):
    object.__setattr__(instance, "demand", 0)
    return {"returned": []}
"""
# method: (status, words of the reason)
EXPECTED: dict[str, tuple[str, str]] = {
    "raises": ("error", "KeyError: 'no such server'"),
    "loops": ("wall_timeout", "killed after wall_limit = 1 s"),
    "ignores_signals": ("wall_timeout", "killed after wall_limit = 1 s"),
    "stops_itself": ("wall_timeout", "killed after wall_limit = 1 s"),
    "allocates": ("memory", "above 0.70 GiB"),
    "too_much": ("memory", "MemoryError"),
    "infeasible": ("rejected", "violations"),
    "false_objective": ("rejected", "claims preempted = -1, the checker finds"),
    "no_solution": ("rejected", "returned no solution"),
    "exits": ("crashed", "with status 7; its last output: goodbye"),
    "exits_by_exception": ("error", "SystemExit: that is all"),
    "segfaults": ("crashed", "by SIGSEGV"),
    "recurses": ("error", "RecursionError"),
    "closes_pipe": ("crashed", "closed the connection"),
    "prints": ("feasible", ""),
    "prints_bytes": ("feasible", ""),
    "forks": ("feasible", ""),
    "forks_many": ("error", "ValueError: from one of four processes"),
    "child_returns": ("crashed", "with status 5"),
    "child_keeps_pipe": ("crashed", "with status 6"),
    "leaves_process": ("feasible", ""),
    "leaves_thread": ("feasible", ""),
    "writes_to_pipe": ("feasible", ""),
    "surrogate": ("error", r"half a pair \ud800 and \x00 and \x1b[31m"),
    "long_text": ("error", "(50,000,012 characters)"),
    "silent_error": ("error", "Odd: its message cannot be had"),
    "odd_reason": ("no solution", r"\udfff"),
    "changes": ("error", ""),
}
HANGING = ("loops", "ignores_signals", "stops_itself")
QUICK = ("raises", "loops", "allocates", "infeasible", "segfaults", "prints_bytes", "surrogate")
"""Those of every run of the tests: one for each way in which a run can end, and odd output."""
METHODS = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in EXPECTED]
SMALL = 'generate = "reclaiming"; grid = { servers = [5], demand = [2] }'
LIMITS = {"wall_limit": 300, "memory_limit_gib": 0.7}


def suite_of(methods: list[str], **limits: Any) -> str:
    """Return a suite with a method of dlsched before and after each of the methods."""
    entries: list[str] = []
    for i, name in enumerate(methods):
        entries += [f"random; seeds = [{i}]", f"mine_odd:{name}"]
    return suite_text(SMALL, *entries, "lyra", **LIMITS | limits)


@pytest.fixture(scope="session")
def chosen(request: pytest.FixtureRequest) -> list[str]:
    """Give the methods that the tests of this session ask for."""
    names = {
        i.callspec.params.get("method") for i in request.session.items if hasattr(i, "callspec")
    }
    return [name for name in EXPECTED if name in names]


@pytest.fixture(scope="session")
def rows(chosen: list[str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Give the rows of one sweep with these methods, with two jobs, by method and seed."""
    place = tmp_path_factory.mktemp("misbehaviour")
    (place / "mine_odd.py").write_text(OWN)
    others = [name for name in chosen if name not in HANGING]
    (place / "others.toml").write_text(suite_of(others))
    hanging = suite_text(
        SMALL,
        *(f"mine_odd:{name}" for name in chosen if name in HANGING),
        **LIMITS | {"wall_limit": 1},
    )
    (place / "hanging.toml").write_text(hanging)
    (place / "suite.toml").write_text(suite_text([], include=["hanging.toml", "others.toml"]))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setattr(worker_process, "GRACE_SECONDS", 1)
        run_suite("suite.toml", "out", jobs=2)
    return {f"{row['method']} {row['seed']}": row for row in stored(place / "out")}


@pytest.mark.parametrize("method", METHODS)
def test_misbehaviour_is_a_row(method: str, rows: dict[str, Any]) -> None:
    """Each misbehaviour is one row with its status and a short, encodable reason."""
    status, words = EXPECTED[method]
    row = rows[f"mine_odd:{method} 0"]
    assert (row["status"], words in row["reason"]) == (status, True), row["reason"]
    assert len(row["reason"]) <= 2000 and row["reason"].encode().decode() == row["reason"]


def test_no_other_run_is_disturbed(
    rows: dict[str, Any], chosen: list[str], tmp_path: Path, shared_workers: None
) -> None:
    """All runs between them are there, with the answers of a sweep without misbehaving methods."""
    count = len([name for name in chosen if name not in HANGING])
    assert len(rows) == len(chosen) + count + 1
    others = [row for name, row in rows.items() if not name.startswith("mine_odd")]
    assert [row["status"] for row in others] == ["feasible"] * (count + 1)
    alone = {row["seed"]: row["solution_sha256"] for row in others if row["method"] == "random"}
    assert len(alone) == count and len(set(alone.values())) > count // 4
    seeds = list(range(count))
    (tmp_path / "suite.toml").write_text(suite_text(SMALL, f"random; seeds = {seeds}", **LIMITS))
    frame = run_suite(tmp_path / "suite.toml", tmp_path / "out")
    undisturbed = dict(zip(frame["seed"], frame["solution_sha256"], strict=True))
    assert undisturbed == {seed: rows[f"random {seed}"]["solution_sha256"] for seed in seeds}


def test_nothing_is_left_running(rows: dict[str, Any], shared: Any) -> None:
    """Processes that methods started end with the worker, those in sessions of their own too."""
    mine = psutil.Process(os.getpid()).children(recursive=True)
    workers = {p.pid for p in mine if recorder.__file__ in p.cmdline()}
    assert workers <= {worker.process.pid for worker in shared.idle if worker.process}
    sleeping = ["-c", "import time; time.sleep(60)"]
    found = [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"]]
    assert not [p for p in found if p.info["cmdline"][-2:] == sleeping]


def test_endless_writing_ends_at_the_limit(tmp_path: Path, shared_workers: None) -> None:
    """A method that writes to the connection without end fails only its own run."""
    (tmp_path / "mine_odd.py").write_text(OWN)
    (tmp_path / "suite.toml").write_text(suite_of(["keeps_writing"], wall_limit=20))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        frame = run_suite("suite.toml", "out")
    assert list(frame["status"][[0, 2]]) == ["feasible"] * 2
    assert frame["status"][1] in ("feasible", "crashed", "wall_timeout")
