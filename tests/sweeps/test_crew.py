"""Runs given to workers, some of which cannot make them, and the messages between both."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dlsched.sweeps import wire
from dlsched.sweeps.execution import Outcome
from dlsched.sweeps.instance_spec import InstanceSpec
from dlsched.sweeps.pools import Gone, NoWorker, Worker, make_runs
from dlsched.sweeps.task import Limits, Task
from dlsched.sweeps.worker_process import Unfit

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

    patience, patience_with_unfit, poll_seconds = 0.02, 0.02, 0.005

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
    """A worker that is unfit, or becomes so, is asked once; all other runs are made elsewhere."""
    bad = Thread("bad", unfit)
    rows = swept(bad, Thread("good", good))
    assert {row["by"] for row in rows} == {"good"} and bad.runs == 1

    def later(task: Task, runs: int) -> str:
        return good(task, runs) if runs < 4 else unfit(task, runs)

    rows = swept(Thread("first", later), Thread("second", good))
    assert [row["status"] for row in rows] == ["feasible"] * 12


def test_no_worker_is_left() -> None:
    """With every worker unfit, or none, the sweep ends; some are named, the others counted."""
    with pytest.raises(NoWorker, match=r"a: it has no dlsched; b: .*12 runs were not made.*resume"):
        swept(Thread("a", unfit), Thread("b", unfit))
    with pytest.raises(NoWorker, match="and 3 more"):
        swept(*(Thread(f"worker {i}", unfit) for i in range(8)))
    with pytest.raises(NoWorker, match="there is no worker at the test: 12 runs were not made"):
        swept()


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


ROW = {"key": "k", "gap": 0.25, "reason": "\ud800", "objective": None}


@pytest.fixture
def pipe() -> Iterator[tuple[wire.Inbox, int]]:
    """Give an inbox and the end of the pipe that writes to it."""
    read, write = os.pipe()
    inbox = wire.Inbox(read)
    yield inbox, write
    inbox.close()


def receive(inbox: wire.Inbox, mark: bytes) -> object:
    """Return the answer with this mark."""
    while True:
        found = inbox.poll(mark, 5)
        if found is not None:
            return found


@pytest.mark.parametrize("content", [None, b"", b"solution", bytes(range(256)) * 10_000])
def test_answer_after_noise(content: bytes | None, pipe: tuple[wire.Inbox, int]) -> None:
    """An answer after any other bytes, in pieces of any size, arrives complete."""
    inbox, write = pipe
    mark, noise = wire.new_mark(), random.Random(0).randbytes(100_000)
    text = noise + wire.answer(wire.new_mark(), {"key": "other"}) + wire.answer(mark, ROW, content)

    def send() -> None:
        for i in range(0, len(text), 7919):
            wire.write_all(write, text[i : i + 7919])

    sender = threading.Thread(target=send)
    sender.start()
    assert receive(inbox, mark) == (ROW, content)
    sender.join()
    os.close(write)


def test_damaged_answer(pipe: tuple[wire.Inbox, int]) -> None:
    """Changed bytes in an answer are detected, and so is an impossible length."""
    inbox, write = pipe
    mark = wire.new_mark()
    text = bytearray(wire.answer(mark, ROW, b"solution"))
    text[-3] ^= 1
    os.write(write, text)
    with pytest.raises(wire.Damaged):
        receive(inbox, mark)
    mark = wire.new_mark()
    os.write(write, mark + b"\xff" * 100)
    with pytest.raises(wire.Damaged):
        receive(inbox, mark)
    os.close(write)
    with pytest.raises(EOFError):
        inbox.poll(mark, 1)


def test_noise_is_not_collected(pipe: tuple[wire.Inbox, int]) -> None:
    """Noise without end takes no memory."""
    inbox, write = pipe
    for _ in range(50):
        os.write(write, b"z" * 60_000)
        assert inbox.poll(b"m" * wire.MARK_BYTES, 1) is None
        assert len(inbox.held) < wire.MARK_BYTES
    os.close(write)


def test_task_that_nobody_takes() -> None:
    """A task is not waited for without end: the reader may hang, or the sweep may stop."""
    read, write = os.pipe()
    task, stop = "x" * 1_000_000, threading.Event()
    with pytest.raises(BrokenPipeError):
        wire.send_task(write, b"", task, 0.2, stop)
    stop.set()
    with pytest.raises(BrokenPipeError):
        wire.send_task(write, b"", task, 60, stop)
    os.close(read)
    with pytest.raises(BrokenPipeError):
        wire.send_task(write, b"", task, 60, threading.Event())
    os.close(write)


def test_task_arrives() -> None:
    """A task larger than the pipe arrives with its mark; then the end is seen."""
    read, write = os.pipe()
    task = {"big": "x" * 1_000_000}
    sender = threading.Thread(
        target=wire.send_task, args=(write, b"mark", task, 60, threading.Event())
    )
    sender.start()
    assert wire.read_task(read) == (b"mark", task)
    sender.join()
    os.close(write)
    assert wire.read_task(read) is None
    os.close(read)


def test_two_answers_at_once(pipe: tuple[wire.Inbox, int]) -> None:
    """Of two answers with one mark that arrive together, each is received."""
    inbox, write = pipe
    mark = wire.new_mark()
    os.write(write, wire.answer(mark, {"began": True}) + b"noise" + wire.answer(mark, ROW, b"s"))
    assert receive(inbox, mark) == ({"began": True}, None)
    assert receive(inbox, mark) == (ROW, b"s")
    os.close(write)
