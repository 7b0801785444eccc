"""Files that are too large, or full of flaws, are refused quickly and in little memory."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bad_input_data import (
    GOOD,
    MEGABYTES,
    command,
    swap,
)

import dlsched
from dlsched import files

LARGE: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "spaces": (lambda f: fill(f, b"", b" "), "", "begins with blanks only"),
    "brace and spaces": (lambda f: fill(f, b"{", b" "), "", "is not JSON (expecting"),
    "zeros": (lambda f: fill(f, b"", b"\0"), "", "is not UTF-8"),
    "one string": (lambda f: fill(f, b'{"dlsched": "', b"x", b'"}'), "dlsched", 'is "xxx'),
    "bomb": (lambda f: bomb(f, b" "), "", "larger than 256 MiB; split it"),
    "bomb of brackets": (lambda f: bomb(f, b"["), "", "larger than 256 MiB; split it"),
}


def fill(file: Path, head: bytes, filling: bytes, tail: bytes = b"") -> None:
    """Write 200 MB of one character between a head and a tail."""
    block = filling * 2**20
    with file.open("wb") as stream:
        stream.write(head)
        for _ in range(MEGABYTES):
            stream.write(block)
        stream.write(tail)


def bomb(file: Path, filling: bytes) -> None:
    """Write some hundred kilobytes of gzip that unpack to more than is allowed."""
    with gzip.open(file, "wb", compresslevel=1) as stream:
        stream.write(b"{")
        for _ in range(files.MAX_BYTES >> 20):
            stream.write(filling * 2**20)


@pytest.mark.parametrize("name", LARGE)
def test_large_file(name: str, tmp_path: Path) -> None:
    """A file of hundreds of megabytes is refused within bounded memory and time."""
    write, path, words = LARGE[name]
    file = tmp_path / "large.json"
    write(file)
    ran = command("show", str(file), bounded=True)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(": ".join(filter(None, (f"error: {file}", path))))
    assert words in ran.stderr
    assert ran.stderr.count("\n") == 1 and len(ran.stderr) < 600


MANY: dict[str, tuple[dict[str, Any], str]] = {
    "bad jobs": ({"jobs": [1] * 10**6}, "jobs[0]"),
    "bad ids": ({"servers": [{"id": 1, "gpus": 1}] * 10**5}, "servers[0].id"),
    "unknown fields": ({f"x{i}": i for i in range(10**6)}, "x0"),
    "long ids": ({"servers": [{"id": "x" * 10**7, "gpus": 1}] * 2}, "servers[1].id"),
    "long field": ({"x" * 10**7: 1}, "x" * 37 + "..."),
}


@pytest.mark.parametrize("name", MANY)
def test_a_million_flaws(name: str, tmp_path: Path) -> None:
    """Only the first flaw is looked for, and a message stays short whatever is in the data."""
    changes, path = MANY[name]
    with pytest.raises(dlsched.InstanceError) as caught:
        dlsched.load(GOOD | changes)
    assert caught.value.path == path
    assert len(str(caught.value)) < 600


def test_real_process(tmp_path: Path) -> None:
    """A process of its own says the same, with status 2 and an untouched target."""
    bad, target = tmp_path / "bad.json", tmp_path / "out.json"
    bad.write_bytes(swap('"server": "s2"', '"server": "s9"'))
    target.write_text("precious")
    ran = command("solve", str(bad), "-o", str(target))
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.count("\n") == 1 and "Traceback" not in ran.stderr
    assert target.read_text() == "precious"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.json", "out.json"]
