"""Messages between runner and worker process; output that a method writes cannot imitate them.

An answer starts with a mark: random bytes that the runner sent with the task. Bytes before the mark
are ignored. A digest detects answers that were damaged on the way.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import secrets
import select
import struct
import sys
import threading
import time
from typing import IO, Any

from dlsched.schema.files import JsonObject

MARK_BYTES = 32
MOST_BYTES = 2**32
"""The largest answer; a longer one counts as damaged."""
_CHUNK = 2**20
_LENGTH = struct.Struct("!Q")
_HEAD = struct.Struct("!QQ32s")
"""Size of the row as JSON, size of the solution plus 1 (0 for none), SHA-256 of both; bytes."""


def missing() -> str | None:
    """Return why worker processes cannot be watched on this system; None if they can.

    A run that passes its limit of time or memory is killed with all that it has started, which
    takes groups of processes, and it is waited for on pipes. Windows has neither.
    """
    absent = [
        name
        for name, there in (
            ("select.poll", hasattr(select, "poll")),
            ("os.killpg", hasattr(os, "killpg")),
            ("os.set_blocking", hasattr(os, "set_blocking")),
        )
        if not there
    ]
    if not absent:
        return None
    return (
        f"a sweep cannot limit the time and memory of runs here: {sys.platform} has no "
        f"{', no '.join(absent)}; run it on Linux or macOS, under WSL, or on a Dask cluster of "
        "such machines"
    )


class Damaged(Exception):
    """An answer that differs from what the worker process sent."""


def new_mark() -> bytes:
    """Return a random mark."""
    return secrets.token_bytes(MARK_BYTES)


def answer(mark: bytes, data: JsonObject, content: bytes | None = None) -> bytes:
    """Return the message with JSON data and, if there is one, the solution's file."""
    row, rest = json.dumps(data, default=str).encode(), content or b""
    digest = hashlib.sha256(row + rest).digest()
    size = 0 if content is None else len(rest) + 1
    return b"".join((mark, _HEAD.pack(len(row), size, digest), row, rest))


class Inbox:
    """The answers received through a file descriptor.

    Parameters
    ----------
    descriptor
        Reading end of a pipe; `close` closes it.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        os.set_blocking(descriptor, False)
        self.held = bytearray()

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.descriptor)

    def poll(self, mark: bytes, seconds: float) -> tuple[JsonObject, bytes | None] | None:
        """Wait at most `seconds`; return the answer with this mark if it is complete.

        Raises
        ------
        EOFError
            If every writer has closed the pipe.
        Damaged
            If the answer differs from what was sent.
        """
        complete = self._complete(mark)
        if complete is not None:
            return complete
        poller = select.poll()  # select() takes no descriptor above 1023
        poller.register(self.descriptor, select.POLLIN)
        if poller.poll(1000 * seconds):
            chunk = os.read(self.descriptor, _CHUNK)
            if not chunk:
                raise EOFError
            self.held += chunk
        return self._complete(mark)

    def _complete(self, mark: bytes) -> tuple[JsonObject, bytes | None] | None:
        begin = self.held.find(mark)
        if begin < 0:
            del self.held[: max(0, len(self.held) - MARK_BYTES + 1)]
            return None
        del self.held[:begin]
        head = MARK_BYTES + _HEAD.size
        if len(self.held) < head:
            return None
        rows, size, digest = _HEAD.unpack_from(self.held, MARK_BYTES)
        end = head + rows + max(0, size - 1)
        if end > MOST_BYTES:
            self.held.clear()
            raise Damaged
        if len(self.held) < end:
            return None
        body = bytes(self.held[head:end])
        del self.held[:end]
        if hashlib.sha256(body).digest() != digest:
            raise Damaged
        return json.loads(body[:rows]), body[rows:] if size else None


def skip_answer(stream: IO[bytes], mark: bytes, size: int) -> tuple[JsonObject, int]:
    """Return the JSON data of the answer at a file's position, and where the answer ends.

    Its content is not read.

    Parameters
    ----------
    size
        Size of the file.

    Raises
    ------
    Damaged
        If there is no complete answer.
    """
    begin = stream.tell()
    head = stream.read(MARK_BYTES + _HEAD.size)
    if len(head) < MARK_BYTES + _HEAD.size or not head.startswith(mark):
        raise Damaged("no record begins there")
    rows, content, _ = _HEAD.unpack_from(head, MARK_BYTES)
    end = begin + len(head) + rows + max(0, content - 1)
    if end > size:
        raise Damaged("it is incomplete")
    try:
        return json.loads(stream.read(rows)), end
    except ValueError as error:
        raise Damaged(str(error)) from None


def read_answer(stream: IO[bytes], mark: bytes) -> tuple[JsonObject, bytes | None]:
    """Return the answer at a file's position: JSON data, and the content if it has one.

    Raises
    ------
    Damaged
        If it differs from what was written.
    """
    head = stream.read(MARK_BYTES + _HEAD.size)
    if len(head) < MARK_BYTES + _HEAD.size or not head.startswith(mark):
        raise Damaged("no record begins there")
    rows, size, digest = _HEAD.unpack_from(head, MARK_BYTES)
    body = stream.read(rows + max(0, size - 1))
    if hashlib.sha256(body).digest() != digest:
        raise Damaged("its digest is another")
    return json.loads(body[:rows]), body[rows:] if size else None


def next_mark(stream: IO[bytes], mark: bytes, offset: int) -> int:
    """Return the position of the first mark in a file from `offset` on; its size if none is."""
    stream.seek(offset)
    held = b""
    while chunk := stream.read(_CHUNK):
        held = held[-len(mark) + 1 :] + chunk
        place = held.find(mark)
        if place >= 0:
            return stream.tell() - len(held) + place
    return stream.tell()


def send_task(
    descriptor: int, mark: bytes, task: Any, seconds: float, stop: threading.Event
) -> None:
    """Write a task with its mark to a pipe.

    Raises
    ------
    BrokenPipeError
        If the reader has closed the pipe, has not read the task after `seconds`, or `stop` is set.
    """
    content = pickle.dumps((mark, task))
    remaining = memoryview(_LENGTH.pack(len(content)) + content)
    os.set_blocking(descriptor, False)
    poller = select.poll()
    poller.register(descriptor, select.POLLOUT)
    deadline = time.monotonic() + seconds
    while remaining:
        if stop.is_set() or time.monotonic() > deadline:
            raise BrokenPipeError
        if poller.poll(100):
            remaining = remaining[os.write(descriptor, remaining[:_CHUNK]) :]


def read_task(descriptor: int) -> tuple[bytes, Any] | None:
    """Wait for a task and return it with its mark; ``None`` if the runner has closed the pipe."""
    head = _read(descriptor, _LENGTH.size)
    content = _read(descriptor, _LENGTH.unpack(head)[0]) if head else None
    mark, task = pickle.loads(content) if content else (b"", None)
    return (mark, task) if content else None


def _read(descriptor: int, count: int) -> bytes | None:
    content = bytearray()
    while len(content) < count:
        chunk = os.read(descriptor, min(_CHUNK, count - len(content)))
        if not chunk:
            return None
        content += chunk
    return bytes(content)


def write_all(descriptor: int, content: bytes) -> None:
    """Write all of it, in as many steps as the pipe needs."""
    remaining = memoryview(content)
    while remaining:
        remaining = remaining[os.write(descriptor, remaining[:_CHUNK]) :]
