"""Opening a trace file: plain, gzipped or in a tar archive, with one error for what is unusable."""

import io
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, TextIO, cast

from dlsched.errors import InstanceError
from dlsched.schema.files import Unpacked, reading

MAX_LINE = 2**16
"""Characters of the longest row that is read."""
MAX_BYTES = 2**30
"""Size of the largest file that is read, after decompression."""
MOST_ROWS = 5_000_000
"""Of a file; the largest published trace has 1.8 million. A row takes up to a kB of memory."""
_ZIP = b"PK\x03\x04"
_TAR_MAGIC = slice(257, 262)


@contextmanager
def open_text(path: Path, where: str, members: tuple[str, ...] = ()) -> Iterator[TextIO]:
    """Open a file as UTF-8 text; a byte order mark is skipped, gzip is unpacked while reading.

    Of a tar archive the first file is opened whose name begins as one of `members`.
    """
    try:
        with reading(where), path.open("rb") as raw:
            if raw.read(len(_ZIP)) == _ZIP:
                names = ", ".join(zipfile.ZipFile(raw).namelist()[:8])
                raise InstanceError(where, "", f"is a zip archive of {names}", "unpack it first")
            raw.seek(0)
            yield _text(_unpacked(raw, where, members))
    except (tarfile.TarError, zipfile.BadZipFile) as error:
        problem, remedy = f"the archive is damaged ({error})", "copy or make the file anew"
        raise InstanceError(where, "", problem, remedy) from None


def _text(stream: IO[bytes]) -> TextIO:
    return io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")


def _unpacked(raw: BinaryIO, where: str, members: tuple[str, ...]) -> IO[bytes]:
    stream = io.BufferedReader(Unpacked(raw, where, MAX_BYTES))
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


def lines(text: TextIO, where: str, longest: int = MAX_LINE) -> Iterator[str]:
    """Yield the lines; raise on a line or a file that is too long before it is in memory."""
    for row, line in enumerate(iter(lambda: text.readline(longest), ""), start=1):
        if len(line) == longest:
            raise InstanceError(where, f"row {row}", "is too long", "write one row per job")
        if row > MOST_ROWS:
            raise too_many(where, MOST_ROWS, "rows")
        yield line


def too_many(where: str, most: int, what: str) -> InstanceError:
    """Return the error of a file with more rows or cells than are read."""
    return InstanceError(where, "", f"has more than {most:,} {what}", "split it")
