"""Runs given to workers, some of which cannot make them: each run once, or a clear end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from dlsched.bench.execution import Outcome
from dlsched.bench.instance_spec import InstanceSpec
from dlsched.bench.pools import Gone, NoWorker, Worker, make_runs
from dlsched.bench.task import Limits, Task
from dlsched.bench.worker_process import Unfit

Answer = Callable[[Task, int], str]


class Thread:
    """A worker that answers as a function says, from the task and the number of its runs."""

    def __init__(self, name: str, answer: Answer) -> None:
        self.name, self.answer, self.runs = name, answer, 0

    def run(self, task: Task) -> Outcome:
        """Answer with a row of this status."""
        self.runs += 1
        row = {"status": self.answer(task, self.runs), "seed": task.seed, "by": self.name}
        return Outcome(row)

    def close(self) -> None:
        """Do nothing."""


class Crew:
    """Workers that come one after another, each when `newcomers` is called."""

    patience, poll_seconds = 0.02, 0.005

    def __init__(self, *workers: Thread) -> None:
        self.waiting, self.present = list(workers), list[Thread]()

    def newcomers(self) -> list[Worker]:
        """Return the next worker."""
        new = self.waiting[:1]
        del self.waiting[:1]
        self.present += new
        return list[Worker](new)

    def has(self, worker: Worker) -> bool:
        """Return true."""
        return True

    def describe(self) -> str:
        """Return a name."""
        return "the test"


def good(task: Task, runs: int) -> str:
    """Make the run."""
    return "feasible"


def unfit(task: Task, runs: int) -> str:
    """Refuse all runs."""
    raise Unfit("it has no dlsched")


def dead(task: Task, runs: int) -> str:
    """Die."""
    raise Gone("a worker")


def without_file(task: Task, runs: int) -> str:
    """Find another instance than planned in every second file."""
    return "changed" if task.seed % 2 else "feasible"


def swept(*workers: Thread, runs: int = 12) -> list[dict[str, Any]]:
    """Return the rows of a sweep, by seed."""
    spec = InstanceSpec("reclaiming", "x", "x", "x", {})
    tasks = [Task(spec, "lyra", {}, seed, 0, Limits(), "", {}) for seed in range(runs)]
    rows = [outcome.row for outcome in make_runs(tasks, Crew(*workers), threading.Event())]
    assert sorted(row["seed"] for row in rows) == list(range(runs))
    return sorted(rows, key=lambda row: row["seed"])


def test_runs_of_an_unfit_worker_go_to_others() -> None:
    """A worker that cannot make runs is asked once; all runs are made by the good one."""
    bad = Thread("bad", unfit)
    rows = swept(bad, Thread("good", good))
    assert {row["by"] for row in rows} == {"good"} and bad.runs == 1


def test_no_worker_is_left() -> None:
    """With every worker unfit, or none, the sweep ends; some are named, the others counted."""
    with pytest.raises(NoWorker, match=r"a: it has no dlsched; b: .*12 runs were not made.*resume"):
        swept(Thread("a", unfit), Thread("b", unfit))
    with pytest.raises(NoWorker, match="and 3 more"):
        swept(*(Thread(f"worker {i}", unfit) for i in range(8)))
    with pytest.raises(NoWorker, match="there is no worker at the test: 12 runs were not made"):
        swept()


def test_worker_becomes_unfit() -> None:
    """Rows made before a worker became unfit stay; the others are made elsewhere."""

    def later(task: Task, runs: int) -> str:
        return good(task, runs) if runs < 4 else unfit(task, runs)

    rows = swept(Thread("first", later), Thread("second", good))
    assert [row["status"] for row in rows] == ["feasible"] * 12


def test_death_of_workers() -> None:
    """A run whose workers died goes to another one, and is killed after the third death."""
    rows = swept(Thread("a", dead), Thread("b", dead), Thread("c", good), runs=2)
    assert [row["status"] for row in rows] == ["feasible"] * 2
    rows = swept(*(Thread(name, dead) for name in "abc"), Thread("d", good), runs=1)
    assert [row["status"] for row in rows] == ["killed"]


def test_instance_that_one_worker_does_not_have() -> None:
    """A run goes to another worker if one finds another instance; with none left it is a row."""
    rows = swept(Thread("bad", without_file), Thread("good", good))
    assert [row["status"] for row in rows] == ["feasible"] * 12
    rows = swept(Thread("a", without_file), Thread("b", without_file))
    assert [row["status"] for row in rows] == ["feasible", "changed"] * 6
