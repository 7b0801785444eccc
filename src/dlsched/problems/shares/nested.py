"""The throughput files of Gavel's public code: objects by type of GPU, job, and job beside it."""

from __future__ import annotations

import ast
import gzip
import re
import zlib
from pathlib import Path
from typing import Any

from dlsched.errors import InstanceError
from dlsched.schema.files import read_json

Alone = dict[tuple[str, int], dict[str, Any]]
Pairs = dict[tuple[str, str, int, str], tuple[Any, Any]]
_ISOLATED = "null"
_SCALED = re.compile(r"(.*) \(scale factor (\d+)\)", re.DOTALL)
_PAGE = "see docs/gavel.md"


def is_nested(path: Path) -> bool:
    """Whether a file, plain or gzip, holds an object; of one that cannot be read, false."""
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as stream:
            head: bytes = stream.read(4096)
    except (OSError, EOFError, ValueError, zlib.error):
        return False
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")


def read_nested(path: Path) -> tuple[Alone, Pairs]:
    """Return rates alone by (job type, scale), and of pairs of one scale.

    Raises
    ------
    InstanceError
        If the file cannot be read, or an entry is not as in these files.
    """
    alone: Alone = {}
    pairs: Pairs = {}
    where = str(path)
    for gpu, jobs in read_json(path).items():
        for job, rates in _object(jobs, where, f"[{gpu!r}]").items():
            place = f"[{gpu!r}][{job!r}]"
            model, scale = job_of(job)
            known = alone.setdefault((model, scale), {})
            if gpu in known:
                problem = f"{model!r} of scale {scale} stands twice"
                raise InstanceError(where, place, problem, "keep one of the two")
            known[gpu] = 0
            for other, rate in _object(rates, where, place).items():
                if other == _ISOLATED:
                    known[gpu] = rate
                    continue
                if not isinstance(rate, list) or len(rate) != 2:
                    problem = "is not [rate, rate of the other]"
                    raise InstanceError(where, f"{place}[{other!r}]", problem, _PAGE)
                beside, its_scale = job_of(other)
                if its_scale == scale:
                    pairs[model, beside, scale, gpu] = rate[0], rate[1]
    return alone, pairs


def job_of(name: str) -> tuple[str, int]:
    """Return job type and scale factor of a job's name in these files."""
    if name.startswith("("):
        try:
            parts = ast.literal_eval(name)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            parts = None
        if isinstance(parts, tuple) and list(map(type, parts)) == [str, int]:
            return parts[0], parts[1]
    scaled = _SCALED.fullmatch(name)
    return (scaled[1], int(scaled[2])) if scaled else (name, 1)


def _object(value: Any, where: str, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InstanceError(where, place, "is no object of rates", _PAGE)
    return value
