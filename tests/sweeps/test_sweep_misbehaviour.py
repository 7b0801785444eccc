"""Misbehaving methods: each run is one row with the right status, and disturbs no other run."""

import contextlib
import json
from pathlib import Path

import psutil
import pytest
from shared_suites import once

import dlsched
from calls import suite_text
from sweeps import contents, keys_of, made, row, rows

PRELUDE = r"""
import ctypes, os, signal, subprocess, sys, threading, time
import numpy as np
from dlsched import Claim, Status
from dlsched.problems.reclaiming import Solution

def fine(instance):
    return {"returned": [s.id for s in instance.servers[: instance.demand]]}

def sleeping(before):
    return [sys.executable, "-c", f"import time; {before}; time.sleep(60)"]

def write(content):
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, content)
        except OSError:
            pass

def write_for_ever():
    while True:
        write(b"z" * 100)

def wait_until_less_is_printed():
    while os.fstat(2).st_blocks * 512 > 10 << 20:
        time.sleep(0.01)

def start(function):
    threading.Thread(target=function, daemon=True).start()

class Odd(Exception):
    def __str__(self):
        raise RuntimeError
"""
LATE, LARGE, OK = "killed after wall_limit = 1 s", "above 0.70 GiB", "feasible"
# name: (what the method does before it returns an answer, the status of its run, its reason)
CASES: dict[str, tuple[str, str, str]] = {
    "raises": ("raise KeyError('no such server')", "error", "KeyError: 'no such server'"),
    "loops": ("while True: pass", "wall_timeout", LATE),
    "ignores_signals": (
        "[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; time.sleep(60)",
        "wall_timeout", LATE,
    ),
    "stops_itself": ("os.kill(os.getpid(), signal.SIGSTOP)", "wall_timeout", LATE),
    "allocates": ("kept = []\n    while True: kept.append(np.ones(2**22))", "memory", LARGE),
    "child_allocates": (
        "start(lambda: subprocess.run(sleeping('k = bytearray(2 << 30)'))); time.sleep(60)",
        "memory", LARGE,
    ),
    "too_much": ("np.ones(2**45)", "memory", "MemoryError"),
    "infeasible": ("return {'returned': ['none']}", "rejected", "violations"),
    "false_objective": (
        "return Claim(Solution(instance=instance.name, **fine(instance)), objective=(-1, 0))",
        "rejected", "claims preempted = -1, the checker finds",
    ),
    "no_solution": ("return None", "rejected", "returned no solution"),
    "exits": (
        "print('goodbye', flush=True); os._exit(7)",
        "crashed", "with status 7; its last output: goodbye",
    ),
    "exits_by_exception": ("sys.exit('that is all')", "error", "SystemExit: that is all"),
    "segfaults": ("ctypes.string_at(0)", "crashed", "by SIGSEGV"),
    "recurses": ("return recurses(instance, None)", "error", "RecursionError"),
    "closes_files": ("os.closerange(0, 100); time.sleep(60)", "wall_timeout", LATE),
    "prints_bytes": ("[os.write(n, bytes(range(256)) * 500) for n in (1, 2)]", OK, ""),
    "prints_much": ("os.write(2, b'z' * (70 << 20)); wait_until_less_is_printed()", OK, ""),
    "forks": ("os.fork()", OK, ""),
    "forks_many": ("os.fork(); os.fork(); raise ValueError('from one')", "error", "from one"),
    "child_returns": ("if os.fork(): os._exit(5)", "crashed", "with status 5"),
    "child_keeps_pipe": (
        "if os.fork() == 0: time.sleep(60)\n    os._exit(6)", "crashed", "with status 6",
    ),
    "leaves_process": ("subprocess.Popen(sleeping('0'), start_new_session=True)", OK, ""),
    "leaves_thread": ("start(lambda: time.sleep(60))", OK, ""),
    "writes_to_pipe": ("write(bytes(range(256)) * 800)", OK, ""),
    "keeps_writing": (
        "start(write_for_ever); time.sleep(0.2)", OK, "",
    ),
    "surrogate": (
        r"raise ValueError('half a pair \ud800 and \x00 and \x1b[31m')",
        "error", r"half a pair \ud800 and \x00 and \x1b[31m",
    ),
    "long_text": ("raise ValueError('x' * 50_000_000)", "error", "(50,000,012 characters)"),
    "silent_error": ("raise Odd", "error", "Odd: its message cannot be had"),
    "odd_reason": (
        r"return Claim(status=Status.NO_SOLUTION, reason='\udfff' + 'y' * 10_000_000)",
        "no solution", r"\udfff",
    ),
    "changes": ("object.__setattr__(instance, 'demand', 0)", "error", ""),
}  # fmt: skip
OWN = PRELUDE + "".join(
    f"\ndef {name}(instance, {'run' if 'Claim' in body else 'rng'}):\n"
    f"    {body}\n    return fine(instance)\n"
    for name, (body, _, _) in CASES.items()
)
HANGING = ("loops", "ignores_signals", "stops_itself", "closes_files")
QUICK = ("raises", "loops", "allocates", "infeasible", "segfaults", "prints_bytes", "surrogate")
"""Those of every run of the tests: one for each way in which a run can end, and odd output."""
METHODS = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CASES]
SMALL = 'generate = "reclaiming"; grid = { servers = [5], demand = [2] }'
SLOW = "import time\nfrom mine_odd import fine\ntime.sleep(1.2)\n\ndef f(instance, rng):\n"
SLOW += "    return fine(instance)\n"
"""A module whose import takes longer than the limit of its runs."""


@pytest.fixture(scope="session")
def chosen(request: pytest.FixtureRequest) -> list[str]:
    """Give the methods that the tests of this session ask for."""
    items = [item for item in request.session.items if hasattr(item, "callspec")]
    names = {item.callspec.params.get("method") for item in items}
    return [name for name in CASES if name in names]


@pytest.fixture(scope="session")
def place(chosen: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of one sweep with these methods, between runs of dlsched's, with two jobs."""

    def make() -> None:
        Path("mine_odd.py").write_text(OWN)
        Path("mine_slow.py").write_text(SLOW)
        late = ["mine_slow:f", *(f"mine_odd:{name}" for name in chosen if name in HANGING)]
        others = list[str]()
        for seed, name in enumerate(name for name in chosen if name not in HANGING):
            others += [f"random; seeds = [{seed}]", f"mine_odd:{name}"]
        for k, limit, entries in ((0, 1, late), (1, 300, others)):
            limits = {"wall_limit": limit, "memory_limit_gib": 0.7}
            Path(f"{k}.toml").write_text(suite_text(SMALL, *entries, "lyra", **limits))
        Path("suite.toml").write_text(suite_text([], include=["0.toml", "1.toml"]))
        made(jobs=2)

    return once(tmp_path_factory, "misbehaviour", make)


@pytest.mark.parametrize("method", METHODS)
def test_misbehaviour_is_a_row(method: str, place: Path) -> None:
    """Each misbehaviour is one row with its status and a short, encodable reason."""
    _, status, words = CASES[method]
    found = row(place / "out", method=f"mine_odd:{method}")
    assert found["status"] in status.split(" or ") and words in found["reason"], found["reason"]
    assert len(found["reason"]) <= 2000 and found["reason"].encode().decode() == found["reason"]


def test_no_other_run_is_disturbed(place: Path) -> None:
    """All runs between them are there, with the answers that `solve` gives in a quiet process.

    Processes that methods started end with the worker, those in sessions of their own too.
    """
    kept = list(zip(rows(place / "out"), contents(place / "out"), strict=True))
    assert [one["key"] for one, _ in kept] == keys_of(place / "suite.toml")
    instance = dlsched.generate("reclaiming", 0, servers=5, demand=2)
    others = [(one, content) for one, content in kept if one["method"] in ("random", "lyra")]
    assert len(others) > len(QUICK) - len(HANGING)
    for one, content in others:
        expected = dlsched.solve(instance, one["method"], seed=one["seed"]).solution
        assert one["status"] == "feasible" and content and expected
        assert json.loads(content)["returned"] == expected.to_data()["returned"]
    # The clock of a run starts when its method is imported.
    assert row(place / "out", method="mine_slow:f")["status"] == "feasible"
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            helper = "multiprocessing" in "".join(process.cmdline())  # what they are forked from
            assert helper or Path(process.cwd()) != place, process.cmdline()
