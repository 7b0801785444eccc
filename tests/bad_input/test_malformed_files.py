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
from bad_input_data import ELASTIC, GOOD, SOLUTION, TEXT, elastic, good, swap

import dlsched
from calls import MAIN, python, refusal
from dlsched.problems.shares import read_rates
from dlsched.records import read_trace

GZIP = b"\x1f\x8b"
# the file's bytes, the field that the error names, words of the error
MALFORMED: list[tuple[bytes, str, str]] = [
    (b"", "", "is empty"),
    (b" \n\t " * 9, "", "begins with blanks only"),
    (b"demand: 2\n", "", "holds no JSON object"),
    (TEXT[:-20].encode(), "", "is not JSON (expecting"),
    (TEXT.encode() * 2, "", "is not JSON (extra data"),
    (f"[{TEXT}]".encode(), "", "holds no JSON object; write an object"),
    (TEXT.encode("utf-16"), "", "is not UTF-8; save it as UTF-8"),
    (swap('"good"', '"gXod"').replace(b"X", b"\xff"), "", "is not UTF-8 (byte"),
    (gzip.compress(TEXT.encode())[:-30], "", "the gzip data is damaged"),
    (GZIP + b"garbage" * 99, "", "the gzip data is damaged"),
    (gzip.compress(b""), "", "is empty"),
    (b'{"a":' * 10**5, "", "is nested too deeply"),
    (good(dlsched=None), "dlsched", 'is missing; add "dlsched": 1'),
    (good(problem=None), "problem", "is missing; write one of: reclaiming"),
    (good(problem="gpu_packing"), "problem", "or install the package that has it"),
    (json.dumps(SOLUTION).encode(), "", "is a solution, not an instance; give the instance's file"),
    (good(jobs={}), "jobs", "is not a list; write [...]"),
    (good(servers=[1, 2]), "servers[0]", "is not an object; write {...}"),
    (good(servers=[]), "jobs[0].workers[0].server", "there is no server: add one"),
    (elastic(0, max_workers=1), "jobs[0].max_workers", "is below min_workers 2"),
    (elastic(0, min_running_time=None), "jobs[0]", "needs one of min_running_time and running_tim"),
    (elastic(1, min_running_time=9), "jobs[1]", "not both"),
    (elastic(1, running_times=[150]), "jobs[1].running_times", "has 1 entries; give 2"),
    (elastic(1, running_times=[150, 0]), "jobs[1].running_times[1]", "write a number above 0"),
]
DEMAND, WORKER = '"demand": 1', "jobs[1].workers[0].gpus"
# a piece of the good instance's text, what is there instead, the field, words of the error
SWAPPED: list[tuple[str, str, str, str]] = [
    (f"{DEMAND},", f"{DEMAND},,", "", "at line 1 column"),
    ('"good"', r'"\ud800"', "name", "is not Unicode text"),
    ('"good"', '"go\nod"', "", "is not JSON (invalid control character"),
    ('"dlsched": 1', '"dlsched": 2', "dlsched", "upgrade dlsched"),
    *(
        ('"dlsched": 1', f'"dlsched": {version}', "dlsched", f"is {version}, a schema")
        for version in ('"1"', "true", "1.0", "NaN")
    ),
    ('"reclaiming"', '"tetris"', "problem", 'is "tetris", an unknown'),
    ('"reclaiming"', "[]", "problem", "is a list, an unknown problem"),
    ('"good"', '""', "name", "is an empty string"),
    ('"good"', "7", "name", "is not a string; write text in quotes"),
    ('"weight": 1.5', '"wieght": 1.5', "jobs[0].wieght", "is an unknown field; remove it"),
    ('"id": "b", ', "", "jobs[1].id", "is missing; add it"),
    *(
        (DEMAND, f'"demand": {value}', "demand", words)
        for value, words in [
            ("-1", "write a number at least 0"),
            ('"1"', "without quotes"),
            ("true", "is not a number"),
            ("null", "is not a number"),
            ("[1]", "a list is not a number"),
            ("2.0", "without a point"),
            ("1e0", "without a point"),
            (f"1{'0' * 5000}", "is too large"),
            ("1000000000000001", "is too large"),
        ]
    ),
    (DEMAND, f'"demand": {"[" * 10**5}', "", "is nested too deeply"),
    (DEMAND, f"{DEMAND}, {DEMAND}", "demand", "stands twice"),
    ('"gpus": 2', '"gpus": 2, "gpus": 2', WORKER, "stands twice; keep one of the two"),
    ('"gpus": 2', '"gpus": 0', WORKER, "at least 1"),
    ('"gpus": 2', '"gpus": 5', WORKER, 'server "s1" is over its GPUs by 1; give it more gpus, or'),
    ('"flexible": true', '"flexible": 1', "jobs[0].workers[1].flexible", "write true or false"),
    *(
        ("1.5", value, "jobs[0].weight", words)
        for value, words in [
            ("NaN", "NaN is not a number; write a finite decimal"),
            ("Infinity", "Infinity is not a number"),
            ("-Infinity", "-Infinity is not a number"),
            ("1e400", "1e400 is too large"),
            ("1e-400", "too many digits"),
            ("1e-999999999", "too many digits"),
            ("-1.5", "-1.5 is too small"),
            ("1." + "123456789" * 4, "more digits than"),
            ("0." + "3" * 999, "too many digits"),
        ]
    ),
    ('"id": "b"', '"id": ""', "jobs[1].id", "is an empty string"),
    ('"id": "b"', '"id": "a"', "jobs[1].id", 'the id "a" is already used at jobs[0]'),
    (
        '"server": "s2"',
        '"server": "s9"',
        "jobs[0].workers[1].server",
        'no server has the id "s9"; use one of the 2: s1, s2',
    ),
]
MALFORMED += [(swap(old, new), path, words) for old, new, path, words in SWAPPED]


@pytest.mark.parametrize(("content", "path", "words"), MALFORMED, ids=[row[2] for row in MALFORMED])
def test_malformed_file(content: bytes, path: str, words: str, tmp_path: Path) -> None:
    """A malformed file, gzipped or not, is one line with its name, the field and the remedy."""
    plain, packed = tmp_path / "bad.json", tmp_path / "bad.json.gz"
    plain.write_bytes(content)
    packed.write_bytes(gzip.compress(content))
    for file in [plain] if not content or content.startswith(GZIP) else [plain, packed]:
        with pytest.raises(dlsched.InstanceError) as caught:
            dlsched.load(file)
        error = caught.value
        assert (error.where, error.path) == (str(file), path)
        assert words in str(error)
        assert error.remedy and "\n" not in str(error) and len(str(error)) < 600


def test_the_good_instance_is_good(tmp_path: Path) -> None:
    """What these files were made of loads; a UTF-8 byte order mark is no error."""
    assert dlsched.load(ELASTIC).name == "epoch"
    (tmp_path / "marked.json").write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    assert dlsched.load(tmp_path / "marked.json").sha256 == dlsched.load(GOOD).sha256


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("missing.json", "no such file or directory"),
        ("no/such/file.json", "no such file or directory"),
        (".", "is a directory"),
        ("a\0b.json", "null"),
        ("x" * 5000 + ".json", "file name too long"),
    ],
    ids=["missing file", "missing folder", "folder", "null character", "long name"],
)
def test_unreadable_path(file: str, words: str, tmp_path: Path) -> None:
    """What cannot be opened is named, with the system's reason."""
    with pytest.raises(dlsched.InstanceError, match=words):
        dlsched.load(f"{tmp_path}/{file}")
    refusal("show", f"{tmp_path}/{file}")


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """Give up root's right to read everything for a while."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
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


LONG = "x" * 9000
PHILLY = {"jobid": "a", "status": "Pass", "vc": "v", "user": LONG, "attempts": []}
PHILLY["submitted_time"] = "2017-10-09 07:02:41"
HELIOS = "job_id,gpu_num,submit_time,duration,user\n"
SACCT = "JobID|User|Account|Partition|State|Submit|Start|End|NodeList|AllocTRES|JobName\n"
TABLE = "id,submit,start,end,gpus"


def nodes(file: Path) -> object:
    """Read a file as the nodes of a history."""
    jobs = file.with_name("jobs.csv")
    jobs.write_text(f"{TABLE}\n1,1,1,9,1\n")
    return dlsched.read_history(jobs, nodes=file)


# What reads a file: (a function, the file's name, how it begins, a row of it)
READERS: dict[str, tuple[Callable[..., object], str, str, str]] = {
    "document": (dlsched.load, "x.json", '{"dlsched": 1, "servers": [', "[],"),
    "rates": (read_rates, "x.json", "[", "[],"),
    "kueue": (dlsched.read_history, "x.json", '{"items": [', "{},"),
    "trace": (read_trace, "x.csv", HELIOS, f"a,1,2020-04-01 00:00:00,1,{LONG}\n"),
    "philly": (read_trace, "cluster_job_log", "[", f"{json.dumps(PHILLY)},\n"),
    "table": (dlsched.read_history, "x.csv", f"{TABLE},user\n", f"1,1,1,9,1,{LONG}\n"),
    "wide table": (dlsched.read_history, "x.csv", TABLE, ",x"),
    "swf": (dlsched.read_history, "x.swf", "", f"; {LONG}\n"),
    "sacct": (dlsched.read_history, "x.txt", SACCT, f"1|a|b|c|d|0|0|0|n|gpu=1|{LONG}\n"),
    "nodes": (nodes, "x.csv", "name,gpus\n", "a,1\n"),
}


@pytest.mark.parametrize("name", READERS)
def test_small_files_do_not_take_the_machine(name: str, tmp_path: Path) -> None:
    """No reader unpacks 200 times the size of a file."""
    read, called, head, row = READERS[name]
    file = tmp_path / called
    file.write_bytes(gzip.compress((head + row * (9 * 2**21 // len(row))).encode()))
    assert file.stat().st_size < 2**16
    with pytest.raises(dlsched.InstanceError, match="unpacks to more than 200 times its size; if"):
        read(file)


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "row", "most", "what"),
    [
        ("document", "[],", 10_000_000, "values"),
        ("rates", "[],", 10_000_000, "values"),
        ("kueue", "{},", 10_000_000, "values"),
        ("table", "\n", 5_000_000, "rows"),
        ("nodes", "\n", 5_000_000, "rows"),
        *(
            pytest.param(name, row, most, what, marks=SLOW)
            for name, row, most, what in [
                ("wide table", ",x", 50_000_000, "cells"),
                ("trace", "\n", 5_000_000, "rows"),
                ("swf", "\n", 5_000_000, "rows"),
                ("sacct", "\n", 5_000_000, "rows"),
            ]
        ),
    ],
)
def test_no_reader_parses_more_than_a_file_may_hold(
    name: str, row: str, most: int, what: str, tmp_path: Path
) -> None:
    """A file of more values, rows or cells, be they empty, is refused with the limit."""
    read, called, head, _ = READERS[name]
    file = tmp_path / called
    file.write_text(head + row * (most + 1))
    with pytest.raises(dlsched.InstanceError, match=f"has more than {most:,} {what}; sp") as caught:
        read(file)
    assert caught.value.where == str(file)


@pytest.mark.parametrize(
    ("mode", "size", "problem"),
    [("w:gz", 2**26, "unpacks to more than 200 times"), ("w", 2**31, "larger than 1024 MiB")],
)
def test_an_archive_is_not_unpacked_without_end(
    mode: Any, size: int, problem: str, tmp_path: Path
) -> None:
    """An archive whose trace stands behind a large file is refused before that is unpacked."""
    file = tmp_path / "t.tar.gz"
    with tarfile.open(file, mode) as archive:
        large = tarfile.TarInfo("other")
        large.size = size
        archive.addfile(large, io.BytesIO(bytes(size)) if mode == "w:gz" else None)
        log = tarfile.TarInfo("cluster_job_log")
        log.size = 2
        archive.addfile(log, io.BytesIO(b"[]"))
    if mode == "w":  # a hole takes no room
        os.truncate(file, size + 4096)
    with pytest.raises(dlsched.InstanceError, match=problem):
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
# head, what follows it 200 times a megabyte, tail; the field and words of the error
LARGE: list[tuple[bytes, bytes, bytes, str, str]] = [
    (b"", b" ", b"", "", "begins with blanks only"),
    (b"{", b" ", b"", "", "is not JSON (expecting"),
    (b"", b"\0", b"", "", "is not UTF-8"),
    (b'{"dlsched": "', b"x", b'"}', "dlsched", 'is "xxx'),
    (b"{", b"[", b"", "", "has more than 10,000,000 values; split it"),
    (b"{" + b" " * (60 << 20), b" ", b"", "", "larger than 256 MiB; split"),
]


@pytest.mark.slow
def test_large_files(tmp_path: Path) -> None:
    """Files of hundreds of megabytes are refused within bounded memory and time."""
    files = [tmp_path / f"{number}.json" for number in range(len(LARGE))]
    for file, (head, filling, tail, _, _) in zip(files, LARGE, strict=True):
        with file.open("wb") as stream:
            stream.writelines([head, *[filling * 2**20] * 200, tail])
    ran = python(CHILD, *files, env={"OPENBLAS_NUM_THREADS": "1"})
    answers = map(json.loads, ran.stdout.splitlines())
    for file, (*_, path, words), (status, stdout, stderr) in zip(
        files, LARGE, answers, strict=True
    ):
        assert (status, stdout) == (2, ""), words
        assert stderr.startswith(": ".join(filter(None, (f"error: {file}", path)))), words
        assert words in stderr
        assert stderr.count("\n") == 1 and len(stderr) < 600, words
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
