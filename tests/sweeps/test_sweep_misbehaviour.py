"""Misbehaving methods: each run is one row with the right status, and disturbs no other run."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import psutil
import pytest

import dlsched
from calls import suite_text
from sweeps import contents, keys, made, rows

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

def prints_much(instance, rng):
    os.write(2, b"z" * (70 << 20))
    while os.fstat(2).st_blocks * 512 > 10 << 20:
        time.sleep(0.01)
    return fine(instance)

def child_allocates(instance, rng):
    code = "import time; kept = bytearray(2 << 30); time.sleep(60)"
    start = lambda: subprocess.Popen([sys.executable, "-c", code]).wait()
    threading.Thread(target=start, daemon=True).start()
    time.sleep(60)

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
    "child_allocates": ("memory", "above 0.70 GiB"),
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
    "prints_much": ("feasible", ""),
    "forks": ("feasible", ""),
    "forks_many": ("error", "ValueError: from one of four processes"),
    "child_returns": ("crashed", "with status 5"),
    "child_keeps_pipe": ("crashed", "with status 6"),
    "leaves_process": ("feasible", ""),
    "leaves_thread": ("feasible", ""),
    "writes_to_pipe": ("feasible", ""),
    "keeps_writing": ("feasible or crashed or wall_timeout", ""),
    "surrogate": ("error", r"half a pair \ud800 and \x00 and \x1b[31m"),
    "long_text": ("error", "(50,000,012 characters)"),
    "silent_error": ("error", "Odd: its message cannot be had"),
    "odd_reason": ("no solution", r"\udfff"),
    "changes": ("error", ""),
}
HANGING = ("loops", "ignores_signals", "stops_itself", "keeps_writing")
QUICK = (
    "raises", "loops", "allocates", "infeasible", "segfaults", "prints_bytes", "prints_much",
    "writes_to_pipe", "surrogate",
)  # fmt: skip
"""Those of every run of the tests: one for each way in which a run can end, and odd output."""
METHODS = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in EXPECTED]
SMALL = 'generate = "reclaiming"; grid = { servers = [5], demand = [2] }'
SLOW = """
import time
time.sleep(1.2)

def f(instance, rng):
    return {"returned": [s.id for s in instance.servers[: instance.demand]]}
"""
"""A module whose import takes longer than the limit of its runs."""


@pytest.fixture(scope="session")
def chosen(request: pytest.FixtureRequest) -> list[str]:
    """Give the methods that the tests of this session ask for."""
    names = {
        i.callspec.params.get("method") for i in request.session.items if hasattr(i, "callspec")
    }
    return [name for name in EXPECTED if name in names]


@pytest.fixture(scope="session")
def place(chosen: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of one sweep with these methods, between runs of dlsched's, with two jobs."""
    place = tmp_path_factory.mktemp("misbehaviour")
    (place / "mine_odd.py").write_text(OWN)
    (place / "mine_slow.py").write_text(SLOW)
    entries = {0: ["mine_slow:f"], 1: list[str]()}
    for seed, name in enumerate(name for name in chosen if name not in HANGING):
        entries[1] += [f"random; seeds = [{seed}]", f"mine_odd:{name}"]
    entries[0] += [f"mine_odd:{name}" for name in chosen if name in HANGING]
    for k, limit in ((0, 1), (1, 300)):
        limits = {"wall_limit": limit, "memory_limit_gib": 0.7}
        (place / f"{k}.toml").write_text(suite_text(SMALL, *entries[k], "lyra", **limits))
    (place / "suite.toml").write_text(suite_text([], include=["0.toml", "1.toml"]))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        made(jobs=2)
    return place


@pytest.mark.parametrize("method", METHODS)
def test_misbehaviour_is_a_row(method: str, place: Path) -> None:
    """Each misbehaviour is one row with its status and a short, encodable reason."""
    status, words = EXPECTED[method]
    (row,) = (row for row in rows(place / "out") if row["method"] == f"mine_odd:{method}")
    assert row["status"] in status.split(" or ") and words in row["reason"], row["reason"]
    assert len(row["reason"]) <= 2000 and row["reason"].encode().decode() == row["reason"]


def test_no_other_run_is_disturbed(place: Path) -> None:
    """All runs between them are there, with the answers that `solve` gives in a quiet process."""
    kept = list(zip(rows(place / "out"), contents(place / "out"), strict=True))
    assert [row["key"] for row, _ in kept] == keys(place / "suite.toml")
    instance = dlsched.generate("reclaiming", 0, servers=5, demand=2)
    others = [(row, content) for row, content in kept if row["method"] in ("random", "lyra")]
    assert len(others) > len(QUICK) - len(HANGING)
    for row, content in others:
        expected = dlsched.solve(instance, row["method"], seed=row["seed"]).solution
        assert row["status"] == "feasible" and content and expected
        assert json.loads(content)["returned"] == expected.to_data()["returned"]


def test_limits_count_from_the_method(place: Path) -> None:
    """The clock of a run starts when its method is imported, not before."""
    (row,) = (row for row in rows(place / "out") if row["method"] == "mine_slow:f")
    assert row["status"] == "feasible"


def test_nothing_is_left_running(place: Path) -> None:
    """Processes that methods started end with the worker, those in sessions of their own too."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            assert Path(process.cwd()) != place, process.cmdline()
