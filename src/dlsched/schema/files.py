"""Reading and writing ``.json`` and ``.json.gz``, with bounded memory and errors that help.

What JSON leaves to chance is decided here: a field that stands twice, ``NaN``, ``1e400`` and
numbers that a double cannot carry are refused; a file is replaced in one step or not at all.
"""

import gzip
import io
import json
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

from dlsched.errors import InstanceError, OptionError
from dlsched.schema.flaws import FieldPath, spell_path
from dlsched.schema.quantities import Unusable

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object: its fields by name."""
MAX_BYTES = 256 * 2**20
"""The largest document read, after decompression."""
MOST_VALUES = 10_000_000
"""Of a document; the largest of the library has half a million."""
MOST_RATIO = 200
"""Of the size of a file's content to that of the gzip file; in the library 44 is the largest."""
_ANY_RATIO = 16 * 2**20
"""Bytes that are unpacked whatever the ratio."""
_HEAD = 4096
_MAX_LITERAL = 64


class _Repeated(dict[str, Any]):
    """An object in which a field stood twice."""

    field: str


def read_json(path: Path) -> JsonObject:
    """Read one JSON object.

    `InstanceError` is raised if there is no such file, it is no JSON object, too large, cut off, or
    nested too deeply.
    """
    return _parse(read_text(path), str(path))


class Unpacked(io.RawIOBase):
    """The content of a file, unpacked while it is read if it is gzipped.

    `InstanceError` is raised before more than `most` bytes are read, or more than `MOST_RATIO`
    times the size of a gzip file: a small file does not take the machine.
    """

    def __init__(self, raw: BinaryIO, where: str, most: int) -> None:
        self.where, self.most, self.packed_most = where, most, float("inf")
        self.stream = raw
        if raw.read(2) == b"\x1f\x8b":
            self.packed_most = max(_ANY_RATIO, MOST_RATIO * os.fstat(raw.fileno()).st_size)
            self.stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw))
        raw.seek(0)

    def readable(self) -> bool:
        """Return true."""
        return True

    def seekable(self) -> bool:
        """Return true."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer; return how many bytes."""
        data = self.stream.read(len(buffer))
        self._validate(self.stream.tell())
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        if whence == os.SEEK_SET:
            self._validate(offset)
        return self.stream.seek(offset, whence)

    def _validate(self, size: int) -> None:
        if size > self.most:
            limit = f"larger than {self.most >> 20} MiB"
            raise InstanceError(self.where, "", limit, "split it, or drop what is not needed")
        if size > self.packed_most:
            what = f"unpacks to more than {MOST_RATIO} times its size"
            raise InstanceError(self.where, "", what, "if that is meant, unpack it first")


def read_text(path: Path, opening: str = "{") -> str:
    """Return the text of a JSON document, whose number of values is limited.

    `opening`: the character that it has to begin with; any if empty. `InstanceError` is raised if
    there is no such file, or its content is too large, damaged, or no such text.
    """
    where = str(path)
    with reading(where), path.open("rb") as raw:
        text = _text(io.BufferedReader(Unpacked(raw, where, MAX_BYTES)), where, opening)
    refuse_values(text, where)
    return text


@contextmanager
def reading(where: str) -> Iterator[None]:
    """Turn what prevents the reading of a file into an error that names it."""
    try:
        yield
    except InstanceError:  # is a ValueError, too
        raise
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        problem, remedy = f"the gzip data is damaged ({error})", "copy or make the file anew"
        raise InstanceError(where, "", problem, remedy) from None
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 (byte {error.object[error.start]:#x})"
        raise InstanceError(where, "", problem, "save it as UTF-8") from None
    except (OSError, ValueError) as error:
        if not isinstance(error, OSError) and "null" not in str(error):  # as in a path
            raise
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InstanceError(where, "", f"cannot be read: {reason}", "check the path") from None
    except MemoryError:
        raise InstanceError(where, "", "does not fit into memory", "split it") from None


def refuse_values(text: str, where: str) -> None:
    """Raise `InstanceError` if JSON text may have more than `MOST_VALUES` values.

    Each value but the first of a list or an object follows a comma.
    """
    if sum(map(text.count, ",[{")) > MOST_VALUES:
        what = f"has more than {MOST_VALUES:,} values"
        raise InstanceError(where, "", what, "split it, or drop what is not needed")


def _text(stream: BinaryIO, where: str, opening: str) -> str:
    head = stream.read(_HEAD)
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if b"\0" in head[:4]:  # UTF-16 and UTF-32, whatever their byte order
        raise InstanceError(where, "", "is not UTF-8", "save it as UTF-8")
    if not start.startswith(opening.encode()):
        problem = "holds no JSON object"
        if not start:
            problem = "begins with blanks only" if head else "is empty"
        raise InstanceError(where, "", problem, 'write an object: {"dlsched": 1, ...}')
    content = b"".join([head, *iter(lambda: stream.read(2**20), b"")])
    return str(content, "utf-8-sig")


def _parse(text: str, where: str) -> JsonObject:
    repeated: list[_Repeated] = []

    def pairs(items: list[tuple[str, Any]]) -> JsonObject:
        data = dict(items)
        if len(data) == len(items):
            return data
        counts = Counter(name for name, _ in items)
        double = _Repeated(data)
        double.field = next(name for name in data if counts[name] > 1)
        repeated.append(double)
        return double

    try:
        data = json.loads(
            text,
            parse_float=_decimal,
            parse_int=_integer,
            parse_constant=lambda word: Unusable(word, "is not a number", "write a finite decimal"),
            object_pairs_hook=pairs,
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        problem = f"is not JSON ({error.msg.lower()} at {place})"
        raise InstanceError(where, "", problem, "correct it there") from None
    except RecursionError:
        raise InstanceError(
            where, "", "is nested too deeply", "a document has at most 5 levels; see docs/schema"
        ) from None
    except MemoryError:
        raise InstanceError(where, "", "does not fit into memory", "split it") from None
    if repeated:
        double = repeated[-1]
        path = spell_path((*_path_to(data, double), double.field))
        raise InstanceError(where, path, "stands twice", "keep one of the two")
    return cast(JsonObject, data)


def _decimal(literal: str) -> float | Fraction | Unusable:
    value = float(literal)
    if value in (float("inf"), float("-inf")):
        return Unusable(literal[:_MAX_LITERAL], "is too large", "use a unit that keeps it in 1e15")
    number = None if len(literal) > _MAX_LITERAL else Decimal(literal)
    if number is None or bool(value) != bool(number):
        return Unusable(literal[:12] + "...", "has too many digits", "round it to 15 digits")
    return Fraction(*number.as_integer_ratio()) if value else 0.0


def _integer(literal: str) -> int | Unusable:
    if len(literal) > _MAX_LITERAL:
        return Unusable(literal[:12] + "...", "is too large", "use a unit that keeps it in 1e15")
    return int(literal)


def _path_to(data: Any, target: object) -> FieldPath:
    stack: list[tuple[Any, FieldPath]] = [(data, ())]
    while stack:
        node, path = stack.pop()
        if node is target:
            return path
        if isinstance(node, (dict, list)):
            children = node.items() if isinstance(node, dict) else enumerate(node)
            stack += [(child, (*path, step)) for step, child in children]
    return ()


def json_text(data: Mapping[str, Any]) -> str:
    """Return JSON text with one line per field, and per entry where a field is a list."""
    lines = []
    for key, value in data.items():
        if isinstance(value, (list, tuple)) and value and isinstance(value[0], dict):
            rows = [f"    {json.dumps(row, ensure_ascii=False)}" for row in value]
            text = "\n".join(["[", ",\n".join(rows), "  ]"])
        else:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        lines.append(f"  {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write one JSON object; gzipped, without a time stamp, if the name ends in ``.gz``."""
    write_bytes(path, json_text(data).encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Replace `path` in one step; gzipped, without a time stamp, if the name ends in ``.gz``."""
    if path.suffix == ".gz":
        content = gzip.compress(content, compresslevel=9, mtime=0)
    replace_file(path, content)


def validate_target(path: Path) -> None:
    """Raise `OptionError` if a file cannot be written there: it is a folder, or in none."""
    if path.is_dir():
        raise OptionError(f"cannot write {path}; it is a directory: add the name of a file")
    validate_parent(path)


def validate_parent(path: Path) -> None:
    """Raise `OptionError` if the folder is missing that a file or a folder is to stand in."""
    if not path.parent.is_dir():
        raise OptionError(f"cannot write {path}; there is no folder {path.parent}: make it first")


def make_folder(path: Path) -> None:
    """Make a folder, but none of those that it is in, unless it is there."""
    validate_parent(path)
    path.mkdir(exist_ok=True)


def replace_file(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Replace `path` in one step by these very bytes, or by parts that are written one by one."""
    validate_target(path)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("wb") as file:
            file.writelines((content,) if isinstance(content, bytes) else content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
