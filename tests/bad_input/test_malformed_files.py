"""Files that cannot be used: each is one error with file, field and remedy, in bounded memory."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bad_input_data import (
    ELASTIC,
    GOOD,
    SOLUTION,
    TEXT,
    assert_refused,
    elastic,
    good,
    swap,
)

import dlsched
from calls import MAIN, python, refusal
from dlsched.problems.shares import read_rates
from dlsched.records import read_trace
from dlsched.records.history.capacity import read_nodes
from dlsched.schema.files import MAX_BYTES

GZIP = b"\x1f\x8b"
# the file's bytes, the field that the error names, words of the error
MALFORMED: list[tuple[bytes, str, str]] = [
    (b"", "", "is empty"),
    (b" \n\t " * 9, "", "begins with blanks only"),
    (b"demand: 2\n", "", "holds no JSON object"),
    (TEXT[:-20].encode(), "", "is not JSON (expecting"),
    (swap('"demand": 1,', '"demand": 1,,'), "", "at line 1 column"),
    (TEXT.encode() * 2, "", "is not JSON (extra data"),
    (f"[{TEXT}]".encode(), "", "holds no JSON object; write an object"),
    (b"7", "", "holds no JSON object"),
    (TEXT.encode("utf-16"), "", "is not UTF-8; save it as UTF-8"),
    (TEXT.encode("utf-16-le"), "", "is not UTF-8; save it as UTF-8"),
    (swap('"good"', '"gXod"').replace(b"X", b"\xff"), "", "is not UTF-8 (byte"),
    (swap('"good"', r'"\ud800"'), "name", "is not Unicode text"),
    (swap('"good"', '"go\nod"'), "", "is not JSON (invalid control character"),
    (gzip.compress(TEXT.encode())[:-30], "", "the gzip data is damaged"),
    (GZIP + b"garbage" * 99, "", "the gzip data is damaged"),
    (gzip.compress(b""), "", "is empty"),
    (good(dlsched=None), "dlsched", 'is missing; add "dlsched": 1'),
    (swap('"dlsched": 1', '"dlsched": 2'), "dlsched", "upgrade dlsched"),
    (swap('"dlsched": 1', '"dlsched": "1"'), "dlsched", 'is "1", a schema'),
    (swap('"dlsched": 1', '"dlsched": true'), "dlsched", "is true, a schema"),
    (swap('"dlsched": 1', '"dlsched": 1.0'), "dlsched", "is 1.0, a schema"),
    (swap('"dlsched": 1', '"dlsched": NaN'), "dlsched", "is NaN, a schema"),
    (good(problem=None), "problem", "is missing; write one of: reclaiming"),
    (good(problem="gpu_packing"), "problem", "or install the package that has it"),
    (swap('"reclaiming"', '"tetris"'), "problem", 'is "tetris", an unknown'),
    (swap('"reclaiming"', "[]"), "problem", "is a list, an unknown problem"),
    (swap('"reclaiming"', "null"), "problem", "is missing"),
    (good(name=None), "name", "is missing; add it"),
    (swap('"good"', '""'), "name", "is an empty string"),
    (swap('"good"', "7"), "name", "is not a string; write text in quotes"),
    (swap('"demand": 1', '"demand": 1, "color": 2'), "color", "is an unknown"),
    (swap('"weight": 1.5', '"wieght": 1.5'), "jobs[0].wieght", "is an unknown field; remove it"),
    (json.dumps(SOLUTION).encode(), "", "is a solution, not an instance; give the instance's file"),
    (good(demand=None), "demand", "is missing; add it"),
    (swap('"id": "b", ', ""), "jobs[1].id", "is missing; add it"),
    (json.dumps(GOOD | {"jobs": None}).encode(), "jobs", "is not a list; write [...]"),
    (good(jobs={}), "jobs", "is not a list; write [...]"),
    (good(jobs="ab"), "jobs", "is not a list"),
    (good(servers=[1, 2]), "servers[0]", "is not an object; write {...}"),
    (swap('"demand": 1', '"demand": -1'), "demand", "write a number at least 0"),
    (swap('"demand": 1', '"demand": "1"'), "demand", "without quotes"),
    (swap('"demand": 1', '"demand": true'), "demand", "is not a number"),
    (swap('"demand": 1', '"demand": null'), "demand", "is not a number"),
    (swap('"demand": 1', '"demand": [1]'), "demand", "a list is not a number"),
    (swap('"demand": 1', '"demand": 2.0'), "demand", "without a point"),
    (swap('"demand": 1', '"demand": 1e0'), "demand", "without a point"),
    (swap('"demand": 1', f'"demand": 1{"0" * 5000}'), "demand", "is too large"),
    (swap('"demand": 1', '"demand": 1000000000000001'), "demand", "is too large"),
    (swap('"gpus": 2', '"gpus": 0'), "jobs[1].workers[0].gpus", "at least 1"),
    (
        swap('"flexible": true', '"flexible": 1'),
        "jobs[0].workers[1].flexible",
        "is neither true nor false; write true or false",
    ),
    (swap("1.5", "NaN"), "jobs[0].weight", "NaN is not a number; write a finite decimal"),
    (swap("1.5", "Infinity"), "jobs[0].weight", "Infinity is not a number"),
    (swap("1.5", "-Infinity"), "jobs[0].weight", "-Infinity is not a number"),
    (swap("1.5", "1e400"), "jobs[0].weight", "1e400 is too large"),
    (swap("1.5", "1e-400"), "jobs[0].weight", "too many digits"),
    (swap("1.5", "1e-999999999"), "jobs[0].weight", "too many digits"),
    (swap("1.5", "-1.5"), "jobs[0].weight", "-1.5 is too small"),
    (swap("1.5", "1." + "123456789" * 4), "jobs[0].weight", "more digits than"),
    (swap("1.5", "0." + "3" * 999), "jobs[0].weight", "too many digits"),
    (swap('"id": "b"', '"id": ""'), "jobs[1].id", "is an empty string"),
    (swap('"id": "b"', '"id": "a"'), "jobs[1].id", 'the id "a" is already used at jobs[0]'),
    (swap('"id": "s2"', '"id": "s1"'), "servers[1].id", "at servers[0]"),
    (
        swap('"server": "s2"', '"server": "s9"'),
        "jobs[0].workers[1].server",
        'no server has the id "s9"; use one of the 2: s1, s2',
    ),
    (good(servers=[]), "jobs[0].workers[0].server", "there is no server: add one"),
    (
        swap('"gpus": 2', '"gpus": 5'),
        "jobs[1].workers[0].gpus",
        'server "s1" is over its GPUs by 1; give it more gpus, or move workers away',
    ),
    (swap('"demand": 1', '"demand": 1, "demand": 1'), "demand", "stands twice"),
    (
        swap('"gpus": 2', '"gpus": 2, "gpus": 2'),
        "jobs[1].workers[0].gpus",
        "stands twice; keep one of the two",
    ),
    (b'{"a":' * 10**5, "", "is nested too deeply"),
    (swap('"demand": 1', f'"demand": {"[" * 10**5}'), "", "is nested too deeply"),
    (swap('"good"', f"{'[' * 99}{']' * 99}"), "name", "is not a string"),
    (elastic(0, max_workers=1), "jobs[0].max_workers", "is below min_workers 2"),
    (
        elastic(0, min_running_time=None),
        "jobs[0]",
        "needs one of min_running_time and running_times",
    ),
    (elastic(1, min_running_time=9), "jobs[1]", "not both"),
    (elastic(1, running_times=[150]), "jobs[1].running_times", "has 1 entries; give 2"),
    (elastic(1, running_times=[150, 0]), "jobs[1].running_times[1]", "write a number above 0"),
    (elastic(0, min_workers=0), "jobs[0].min_workers", "write a number at least 1"),
    (json.dumps(ELASTIC | {"capacity": -1}).encode(), "capacity", "write a number at least 0"),
    (elastic(1, id="A"), "jobs[1].id", "is already used at jobs[0]"),
    (good(demand=None, servers=None, capacity=3), "demand", "is missing"),
]


@pytest.mark.parametrize(("content", "path", "words"), MALFORMED, ids=[row[2] for row in MALFORMED])
def test_malformed_file(content: bytes, path: str, words: str, tmp_path: Path) -> None:
    """A malformed file, gzipped or not, is one line with its name, the field and the remedy."""
    (tmp_path / "bad.json").write_bytes(content)
    assert_refused(str(tmp_path / "bad.json"), path, words)
    if content and not content.startswith(GZIP):
        (tmp_path / "bad.json.gz").write_bytes(gzip.compress(content))
        assert_refused(str(tmp_path / "bad.json.gz"), path, words)


def test_the_good_instance_is_good(tmp_path: Path) -> None:
    """What at least 30 files were made of loads; a UTF-8 byte order mark is no error."""
    assert len(MALFORMED) >= 30
    assert dlsched.load(ELASTIC).name == "epoch"
    (tmp_path / "marked.json").write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    assert dlsched.load(tmp_path / "marked.json").sha256 == dlsched.load(GOOD).sha256


PATHS: dict[str, tuple[str, str]] = {
    "missing file": ("missing.json", "no such file or directory"),
    "missing folder": ("no/such/file.json", "no such file or directory"),
    "directory": (".", "is a directory"),
    "null character": ("a\0b.json", "null"),
    "long name": ("x" * 5000 + ".json", "file name too long"),
}


@pytest.mark.parametrize("name", PATHS)
def test_unreadable_path(name: str, tmp_path: Path) -> None:
    """What cannot be opened is named, with the system's reason."""
    file, words = PATHS[name]
    with pytest.raises(dlsched.InstanceError, match=words):
        dlsched.load(f"{tmp_path}/{file}")
    refusal("show", f"{tmp_path}/{file}")


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """Give up root's right to read everything for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_forbidden_file(tmp_path: Path) -> None:
    """A file that we may not read is an error of the same kind."""
    file = tmp_path / "secret.json"
    file.write_text(TEXT)
    file.chmod(0)
    with as_nobody(), pytest.raises(dlsched.InstanceError, match="permission denied; check"):
        dlsched.load(file)


def test_misspelled_name() -> None:
    """A name that is no file and not in the library is answered with what there is."""
    with pytest.raises(dlsched.UnknownName, match="no instance is called 'lyra-figg5'"):
        dlsched.load("lyra-figg5")
    assert refusal("show", "lyra-figg5").startswith("error: no instance is called")


LARGE: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "spaces": (lambda f: fill(f, b"", b" "), "", "begins with blanks only"),
    "brace and spaces": (lambda f: fill(f, b"{", b" "), "", "is not JSON (expecting"),
    "zeros": (lambda f: fill(f, b"", b"\0"), "", "is not UTF-8"),
    "one string": (lambda f: fill(f, b'{"dlsched": "', b"x", b'"}'), "dlsched", 'is "xxx'),
    "brackets": (lambda f: fill(f, b"{", b"["), "", "has more than 10,000,000 values; split it"),
    "too large": (lambda f: fill(f, b"{", b" ", megabytes=260), "", "larger than 256 MiB; split"),
    "bomb": (lambda f: bomb(f, b" "), "", "unpacks to more than 200 times its size; if that"),
}


def fill(
    file: Path, head: bytes, filling: bytes, tail: bytes = b"", *, megabytes: int = 200
) -> None:
    """Write one character again and again between a head and a tail."""
    block = filling * 2**20
    with file.open("wb") as stream:
        stream.write(head)
        for _ in range(megabytes):
            stream.write(block)
        stream.write(tail)


def bomb(file: Path, filling: bytes) -> None:
    """Write a small gzip file that unpacks to more than is allowed."""
    block = gzip.compress(filling * 2**20)
    file.write_bytes(gzip.compress(b"{") + block * (MAX_BYTES >> 20))


PHILLY = {"jobid": "a", "status": "Pass", "vc": "v", "user": "u", "attempts": []}
PHILLY["submitted_time"] = "2017-10-09 07:02:41"
HELIOS = "a,1,2020-04-01 00:00:00,1\n"
SACCT = "JobID|User|Account|Partition|State|Submit|Start|End|NodeList|AllocTRES\n"
# What reads a file: (a function, the file's name, how it begins, a row of it, what is limited)
READERS: dict[str, tuple[Callable[..., object], str, str, str, str]] = {
    "document": (dlsched.load, "x.json", '{"dlsched": 1, "servers": [', "[],", "values"),
    "rates": (read_rates, "x.json", "[", "[],", "values"),
    "kueue": (dlsched.read_history, "x.json", '{"items": [', "{},", "values"),
    "trace": (read_trace, "x.csv", "job_id,gpu_num,submit_time,duration\n", HELIOS, "rows"),
    "philly": (read_trace, "cluster_job_log", "[", f"{json.dumps(PHILLY)},\n", "jobs"),
    "table": (dlsched.read_history, "x.csv", "id,submit,start,end,gpus\n", "1,1,1,9,1\n", "rows"),
    "wide table": (dlsched.read_history, "x.csv", "id,submit,start,end,gpus", ",x", "cells"),
    "swf": (dlsched.read_history, "x.swf", "", "1 1 1 1 1 " + "1 " * 13 + "\n", "rows"),
    "sacct": (dlsched.read_history, "x.txt", SACCT, "1|a|b|c|d|0|0|0|n|gpu=1\n", "rows"),
    "nodes": (read_nodes, "x.csv", "name,gpus\n", "a,1\n", "rows"),
}


@pytest.mark.parametrize("name", READERS)
def test_small_files_do_not_take_the_machine(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No reader unpacks 200 times the size of a file, or parses more than it may hold."""
    read, called, head, row, what = READERS[name]
    file = tmp_path / called
    file.write_bytes(gzip.compress((head + row * (2**25 // len(row))).encode()))
    assert file.stat().st_size < 2**18
    with pytest.raises(dlsched.InstanceError, match="unpacks to more than 200 times its size; if"):
        read(file)
    monkeypatch.setattr("dlsched.schema.files.MOST_VALUES", 99)
    monkeypatch.setattr("dlsched.records.traces.lines.MOST_ROWS", 99)
    monkeypatch.setattr("dlsched.records.traces.lines.MOST_CELLS", 99)
    file.write_bytes(gzip.compress((head + row * 150).encode()))
    with pytest.raises(dlsched.InstanceError, match=f"has more than 99 {what}; split it") as caught:
        read(file)
    assert caught.value.where == str(file)


def test_an_archive_is_not_unpacked_without_end(tmp_path: Path) -> None:
    """An archive whose trace stands behind a large file is refused before that is unpacked."""
    file = tmp_path / "t.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        for name, size in (("other", 2**26), ("cluster_job_log", 2)):
            member = tarfile.TarInfo(name)
            member.size = size
            archive.addfile(member, io.BytesIO(b"[]".ljust(size)))
    with pytest.raises(dlsched.InstanceError, match="unpacks to more than 200 times its size"):
        read_trace(file)


CHILD = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
import json
from typer.testing import CliRunner
from dlsched.cli import app
for file in sys.argv[1:]:
    ran = CliRunner().invoke(app, ["show", "--quiet", file])
    print(json.dumps([ran.exit_code, ran.stdout, ran.stderr]), flush=True)
"""
"""Shows files in a process of 2 GiB of address space and a bounded time."""


@pytest.mark.slow
def test_large_files(tmp_path: Path) -> None:
    """Files of hundreds of megabytes are refused within bounded memory and time."""
    files = []
    for number, (write, _, _) in enumerate(LARGE.values()):
        files.append(tmp_path / f"{number}.json")
        write(files[-1])
    ran = python(CHILD, *files, env={"OPENBLAS_NUM_THREADS": "1"})
    answers = map(json.loads, ran.stdout.splitlines())
    for (name, (_, path, words)), file, answer in zip(LARGE.items(), files, answers, strict=True):
        status, stdout, stderr = answer
        assert (status, stdout) == (2, ""), name
        assert stderr.startswith(": ".join(filter(None, (f"error: {file}", path)))), name
        assert words in stderr, name
        assert stderr.count("\n") == 1 and len(stderr) < 600, name
        file.unlink()


MANY: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "bad jobs": (lambda: {"jobs": [1] * 10**6}, "jobs[0]"),
    "bad ids": (lambda: {"servers": [{"id": 1, "gpus": 1}] * 10**5}, "servers[0].id"),
    "unknown fields": (lambda: {f"x{i}": i for i in range(10**6)}, "x0"),
    "long ids": (lambda: {"servers": [{"id": "x" * 10**7, "gpus": 1}] * 2}, "servers[1].id"),
    "long field": (lambda: {"x" * 10**7: 1}, "x" * 37 + "..."),
}


@pytest.mark.parametrize("name", MANY)
def test_a_million_flaws(name: str) -> None:
    """Only the first flaw is looked for, and a message stays short whatever is in the data."""
    changes, path = MANY[name]
    with pytest.raises(dlsched.InstanceError) as caught:
        dlsched.load(GOOD | changes())
    assert caught.value.path == path
    assert len(str(caught.value)) < 600


def test_process_of_its_own(tmp_path: Path) -> None:
    """The installed command gives the same error, status 2, and leaves the target as it is."""
    bad, target = tmp_path / "bad.json", tmp_path / "out.json"
    bad.write_bytes(swap('"server": "s2"', '"server": "s9"'))
    target.write_text("precious")
    ran = python(MAIN, "solve", bad, "-o", target, "-q", check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1 and "Traceback" not in ran.stderr
    assert target.read_text() == "precious"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.json", "out.json"]
