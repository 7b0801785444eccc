"""Messages between runner and worker survive what a method writes between them."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator

import pytest

from dlsched.bench import wire

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
