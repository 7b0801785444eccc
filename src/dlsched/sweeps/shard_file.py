"""A file of one attempt at a shard: rows and solutions, appended one after another.

Each process that makes runs of a shard writes a file of its own, and no other process ever does.
So there is nothing to lock, which network file systems do not do reliably, and no journal that a
reader would have to roll back: a reader takes what is complete, also while the file is written. A
process that is killed leaves at most an incomplete end, which is ignored.

A record is an answer of `dlsched.sweeps.wire` under a fixed mark: its JSON names key and status of
the run, its content is the row, compressed, and the solution or log.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import socket
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dlsched.display.table import Row
from dlsched.errors import InstanceError
from dlsched.schema.files import JsonObject
from dlsched.sweeps import wire
from dlsched.sweeps.execution import Outcome, now

FOLDER = "shards"
ENDING = ".rows"
VERSION = 1
"""Version of the file's format, in its first record."""
_MARK = b"dlsched: one row of a shard\r\n\x00\xff\xfe"
_SYNC_SECONDS = 1.0
"""The longest time that a row waits until the system is asked to write it to the disk. Only a node
that loses its power can lose it; a process that is killed does not."""
_SIZE = 8
"""Bytes that state the compressed row's length."""
_CHUNK = 2**20
assert len(_MARK) == wire.MARK_BYTES


@dataclass(frozen=True)
class Entry:
    """A complete record of a file.

    Attributes
    ----------
    file, offset
        Where it is.
    about
        ``key`` and ``status`` of the run.
    """

    file: Path
    offset: int
    about: JsonObject

    def read(self) -> Outcome:
        """Return the row and the solution.

        Raises
        ------
        InstanceError
            If the record is damaged.
        """
        try:
            with self.file.open("rb") as stream:
                stream.seek(self.offset)
                _, content = wire.read_answer(stream, _MARK)
            assert content is not None
            size = int.from_bytes(content[:_SIZE], "big")
            row: Row = json.loads(zlib.decompress(content[_SIZE : _SIZE + size]))
        except (OSError, ValueError, wire.Damaged, zlib.error) as error:
            what = f"the run {str(self.about.get('key'))[:12]} is damaged ({error})"
            raise InstanceError(
                str(self.file), "", what, "remove the file, and submit its shard again"
            ) from None
        return Outcome(row, content[_SIZE + size :] or None)


class ShardFile:
    """The file that this process appends to; it is created now.

    Parameters
    ----------
    folder
        The sweep's folder.
    k, n
        The shard.

    Raises
    ------
    InstanceError
        If the file cannot be created; `add` raises it if it cannot be written, as on a full disk.
    """

    def __init__(self, folder: Path, k: int, n: int) -> None:
        node = socket.gethostname().partition(".")[0]
        name = f"{node}-{os.getpid()}-{secrets.token_hex(4)}{ENDING}"
        self.path = folder_of(folder, k, n) / name
        head = {"version": VERSION, "shard": [k, n], "node": node, "began": now()}
        head |= {"job": os.environ.get("SLURM_JOB_ID")}
        self.synced = time.monotonic()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
            self.descriptor = os.open(self.path, flags, 0o666)
        except OSError as error:
            raise self._unusable(error) from None
        self._append(wire.answer(_MARK, head))

    def add(self, outcome: Outcome) -> None:
        """Append a run."""
        row = zlib.compress(json.dumps(outcome.row, default=str).encode())
        content = len(row).to_bytes(_SIZE, "big") + row + (outcome.solution or b"")
        about = {"key": outcome.row["key"], "status": outcome.row["status"]}
        self._append(wire.answer(_MARK, about, content))

    def _append(self, record: bytes) -> None:
        try:
            remaining = memoryview(record)
            while remaining:
                written = os.write(self.descriptor, remaining[:_CHUNK])
                if not written:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                remaining = remaining[written:]
            if time.monotonic() > self.synced + _SYNC_SECONDS:
                os.fsync(self.descriptor)
                self.synced = time.monotonic()
        except OSError as error:
            raise self._unusable(error) from None

    def _unusable(self, error: OSError) -> InstanceError:
        what = f"cannot be written ({(error.strerror or str(error)).lower()})"
        remedy = "finished runs are kept: remove the cause, then submit the shard again"
        return InstanceError(str(self.path), "", what, remedy)

    def close(self) -> None:
        """Write everything to the disk, and close the file.

        Raises
        ------
        InstanceError
            If the disk refuses what it has taken before, as some network file systems do.
        """
        try:
            os.fsync(self.descriptor)
        except OSError as error:
            raise self._unusable(error) from None
        finally:
            os.close(self.descriptor)

    def __enter__(self) -> Self:
        """Return the file; leaving the block closes it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file; an error of the block is not replaced by one of closing."""
        if error is None:
            self.close()
        else:
            with contextlib.suppress(InstanceError):
                self.close()


def folder_of(folder: Path, k: int, n: int) -> Path:
    """Return the folder of a shard's files."""
    return folder / FOLDER / f"{k}-of-{n}"


def shards_of(folder: Path) -> dict[tuple[int, int], list[Path]]:
    """Return the files of every shard that was begun, by ``(k, n)``; both in order."""
    files: dict[tuple[int, int], list[Path]] = {}
    for place in (folder / FOLDER).glob("*-of-*"):
        k, _, n = place.name.partition("-of-")
        if k.isdecimal() and n.isdecimal():
            files[int(k), int(n)] = sorted(place.glob(f"*{ENDING}"))
    return dict(sorted(files.items(), key=lambda item: (item[0][1], item[0][0])))


def read_file(path: Path) -> tuple[JsonObject, Iterator[Entry]]:
    """Return what a file's first record says, and its runs, whose rows are not read yet.

    Raises
    ------
    InstanceError
        If the file is of another version, or cannot be read.
    """
    records = _records(path)
    first = next(records, None)
    head: dict[str, Any] = dict(first.about) if first else {}
    if first is not None and head.get("version") != VERSION:
        what = "is not what this version of dlsched writes"
        raise InstanceError(str(path), "", what, "merge with the version that wrote it")
    return head, records


def _records(path: Path) -> Iterator[Entry]:
    """Yield the complete records of a file; what is between them is skipped."""
    try:
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            offset = 0
            while offset < size:
                stream.seek(offset)
                try:
                    about, end = wire.skip_answer(stream, _MARK, size)
                except wire.Damaged:  # or the end that is being written, or was left incomplete
                    offset = wire.next_mark(stream, _MARK, offset + 1)
                    continue
                yield Entry(path, offset, about)
                offset = end
    except OSError as error:
        what = f"cannot be read ({(error.strerror or str(error)).lower()})"
        raise InstanceError(str(path), "", what, "remove the cause") from None
