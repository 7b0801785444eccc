"""Opening a trace file: plain, gzipped or in a tar archive, with one error for what is unusable."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, TextIO, cast

from dlsched.errors import InstanceError

MAX_LINE = 2**16
"""Characters of the longest row that is read."""
MAX_BYTES = 2**32
"""Size of the largest file that is read, after decompression."""
_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_TAR_MAGIC = slice(257, 262)


@contextmanager
def open_text(path: Path, where: str, members: tuple[str, ...] = ()) -> Iterator[TextIO]:
    """Open a file as UTF-8 text; a byte order mark is skipped, gzip is unpacked while reading.

    Parameters
    ----------
    where
        The file's name in errors.
    members
        How the names of the files begin that a tar archive may be opened for.

    Raises
    ------
    InstanceError
        If the file cannot be read, here or at any later moment inside the ``with`` block.
    """
    try:
        with path.open("rb") as raw:
            if raw.read(len(_ZIP)) == _ZIP:
                names = ", ".join(zipfile.ZipFile(raw).namelist()[:8])
                raise InstanceError(where, "", f"is a zip archive of {names}", "unpack it first")
            raw.seek(0)
            yield _text(_unpacked(raw, where, members))
    except (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError, zipfile.BadZipFile) as error:
        kind = (
            "archive" if isinstance(error, tarfile.TarError | zipfile.BadZipFile) else "gzip data"
        )
        raise InstanceError(
            where, "", f"the {kind} is damaged ({error})", "copy or make the file anew"
        ) from None
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 (byte {error.object[error.start]:#x})"
        raise InstanceError(where, "", problem, "save it as UTF-8") from None
    except (OSError, ValueError) as error:
        if isinstance(error, InstanceError):  # is a ValueError too
            raise
        if not isinstance(error, OSError) and "null" not in str(error):
            raise
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InstanceError(where, "", f"cannot be read: {reason}", "check the path") from None


def _text(stream: IO[bytes]) -> TextIO:
    return io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")


def _unpacked(raw: IO[bytes], where: str, members: tuple[str, ...]) -> IO[bytes]:
    packed = raw.read(2) == _GZIP
    raw.seek(0)
    stream = cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if packed else raw
    magic = stream.read(_TAR_MAGIC.stop)[_TAR_MAGIC]
    stream.seek(0)
    if magic != b"ustar":
        return stream
    archive = tarfile.open(fileobj=stream, mode="r:")  # noqa: SIM115 - read while it is open
    seen = []
    for member in archive:
        name = PurePosixPath(member.name).name
        if member.isfile() and name.startswith(members):
            return cast(IO[bytes], archive.extractfile(member))
        seen.append(member.name)
    shown = ", ".join(seen[:8])
    raise InstanceError(
        where,
        "",
        f"is an archive without a job trace; it has: {shown}",
        "name the trace's own file",
    )


def lines(text: TextIO, where: str) -> Iterator[str]:
    """Yield the lines; raise on a line or a file that is too long before it is in memory."""
    total = 0
    for row, line in enumerate(iter(lambda: text.readline(MAX_LINE), ""), start=1):
        total += len(line)
        if len(line) == MAX_LINE:
            raise InstanceError(where, f"row {row}", "is too long", "write one row per job")
        if total > MAX_BYTES:
            raise too_large(where)
        yield line


def too_large(where: str) -> InstanceError:
    """Return the error of a file beyond `MAX_BYTES`."""
    size = f"larger than {MAX_BYTES >> 20} MiB"
    return InstanceError(where, "", size, "split it, or drop what is not needed")
