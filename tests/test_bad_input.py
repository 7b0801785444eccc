"""Bad input: one error that names the file, the field and the remedy; nothing else happens."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import dlsched
from dlsched import files
from dlsched.cli import app

GOOD: dict[str, Any] = {
    "dlsched": 1,
    "problem": "reclaiming",
    "name": "good",
    "demand": 1,
    "servers": [{"id": "s1", "gpus": 8}, {"id": "s2", "gpus": 4}],
    "jobs": [
        {
            "id": "a",
            "weight": 1.5,
            "workers": [{"server": "s1", "gpus": 4}, {"server": "s2", "gpus": 4, "flexible": True}],
        },
        {"id": "b", "workers": [{"server": "s1", "gpus": 2}]},
    ],
}
SOLUTION: dict[str, Any] = {
    "dlsched": 1,
    "problem": "reclaiming",
    "instance": "good",
    "returned": ["s1"],
}
TEXT = json.dumps(GOOD)
ELASTIC: dict[str, Any] = {
    "dlsched": 1,
    "problem": "elastic",
    "name": "epoch",
    "capacity": 9,
    "jobs": [
        {
            "id": "A",
            "gpus_per_worker": 2,
            "min_workers": 2,
            "max_workers": 3,
            "min_running_time": 99.5,
        },
        {
            "id": "B",
            "gpus_per_worker": 1,
            "min_workers": 1,
            "max_workers": 2,
            "running_times": [150, 100],
            "running": True,
        },
    ],
}


def swap(old: str, new: str) -> bytes:
    """Return the good instance's text with one piece replaced."""
    assert TEXT.count(old) == 1, old
    return TEXT.replace(old, new).encode()


def without(field: str) -> bytes:
    """Return the good instance's text without one of its fields."""
    return json.dumps({k: v for k, v in GOOD.items() if k != field}).encode()


def elastic(job: int, **changes: Any) -> bytes:
    """Return the elastic instance's text with fields of one job changed, or dropped if None."""
    jobs = [dict(entry) for entry in ELASTIC["jobs"]]
    jobs[job] = {k: v for k, v in (jobs[job] | changes).items() if v is not None}
    return json.dumps(ELASTIC | {"jobs": jobs}).encode()


# name: (the file's bytes, the field that the error names, what it says of it)
MALFORMED: dict[str, tuple[bytes, str, str]] = {
    "empty": (b"", "", "is empty"),
    "blanks only": (b" \n\t " * 9, "", "begins with blanks only"),
    "not JSON": (b"demand: 2\n", "", "holds no JSON object"),
    "cut off": (TEXT[:-20].encode(), "", "is not JSON (expecting"),
    "comma too many": (swap('"demand": 1,', '"demand": 1,,'), "", "at line 1 column"),
    "two documents": (TEXT.encode() * 2, "", "is not JSON (extra data"),
    "list at the top": (f"[{TEXT}]".encode(), "", "holds no JSON object; write an object"),
    "number at the top": (b"7", "", "holds no JSON object"),
    "UTF-16": (TEXT.encode("utf-16"), "", "is not UTF-8; save it as UTF-8"),
    "UTF-16 without a mark": (TEXT.encode("utf-16-le"), "", "is not UTF-8; save it as UTF-8"),
    "invalid UTF-8": (swap('"good"', '"gXod"').replace(b"X", b"\xff"), "", "is not UTF-8 (byte"),
    "half of a surrogate pair": (swap('"good"', r'"\ud800"'), "name", "is not Unicode text"),
    "control character": (swap('"good"', '"go\nod"'), "", "is not JSON (invalid control character"),
    "truncated gzip": (gzip.compress(TEXT.encode())[:-30], "", "the gzip data is damaged"),
    "gzip with garbage": (b"\x1f\x8b" + b"garbage" * 99, "", "the gzip data is damaged"),
    "gzip of nothing": (gzip.compress(b""), "", "is empty"),
    "no version": (without("dlsched"), "dlsched", 'is missing; add "dlsched": 1'),
    "newer version": (swap('"dlsched": 1', '"dlsched": 2'), "dlsched", "upgrade dlsched"),
    "version as a string": (swap('"dlsched": 1', '"dlsched": "1"'), "dlsched", 'is "1", a schema'),
    "version as true": (swap('"dlsched": 1', '"dlsched": true'), "dlsched", "is true, a schema"),
    "version as 1.0": (swap('"dlsched": 1', '"dlsched": 1.0'), "dlsched", "is 1.0, a schema"),
    "version as NaN": (swap('"dlsched": 1', '"dlsched": NaN'), "dlsched", "is NaN, a schema"),
    "no problem": (without("problem"), "problem", "is missing; write one of: reclaiming"),
    "unknown problem": (swap('"reclaiming"', '"tetris"'), "problem", 'is "tetris", an unknown'),
    "problem as a list": (swap('"reclaiming"', "[]"), "problem", "is a list, an unknown problem"),
    "problem as null": (swap('"reclaiming"', "null"), "problem", "is missing"),
    "no name": (without("name"), "name", "is missing; add it"),
    "empty name": (swap('"good"', '""'), "name", "is an empty string"),
    "number for a name": (swap('"good"', "7"), "name", "is not a string; write text in quotes"),
    "unknown field": (swap('"demand": 1', '"demand": 1, "color": 2'), "color", "is an unknown"),
    "unknown field below": (
        swap('"weight": 1.5', '"wieght": 1.5'),
        "jobs[0].wieght",
        "is an unknown field; remove it",
    ),
    "solution for an instance": (
        json.dumps(SOLUTION).encode(),
        "",
        "is a solution, not an instance; give the instance's file",
    ),
    "missing field": (without("demand"), "demand", "is missing; add it"),
    "missing field below": (swap('"id": "b", ', ""), "jobs[1].id", "is missing; add it"),
    "null for a list": (
        json.dumps(GOOD | {"jobs": None}).encode(),
        "jobs",
        "is not a list; write [...]",
    ),
    "object for a list": (
        json.dumps(GOOD | {"jobs": {}}).encode(),
        "jobs",
        "is not a list; write [...]",
    ),
    "string for a list": (json.dumps(GOOD | {"jobs": "ab"}).encode(), "jobs", "is not a list"),
    "number for an object": (
        json.dumps(GOOD | {"servers": [1, 2]}).encode(),
        "servers[0]",
        "is not an object; write {...}",
    ),
    "negative demand": (swap('"demand": 1', '"demand": -1'), "demand", "write a number at least 0"),
    "number as a string": (swap('"demand": 1', '"demand": "1"'), "demand", "without quotes"),
    "boolean for a number": (swap('"demand": 1', '"demand": true'), "demand", "is not a number"),
    "null for a number": (swap('"demand": 1', '"demand": null'), "demand", "is not a number"),
    "list for a number": (swap('"demand": 1', '"demand": [1]'), "demand", "a list is not a number"),
    "decimal for a count": (swap('"demand": 1', '"demand": 2.0'), "demand", "without a point"),
    "exponent for a count": (swap('"demand": 1', '"demand": 1e0'), "demand", "without a point"),
    "huge integer": (swap('"demand": 1', f'"demand": 1{"0" * 5000}'), "demand", "is too large"),
    "beyond 1e15": (swap('"demand": 1', '"demand": 1000000000000001'), "demand", "is too large"),
    "no GPUs": (swap('"gpus": 2', '"gpus": 0'), "jobs[1].workers[0].gpus", "at least 1"),
    "number for a boolean": (
        swap('"flexible": true', '"flexible": 1'),
        "jobs[0].workers[1].flexible",
        "is not a truth value; write true or false",
    ),
    "NaN": (swap("1.5", "NaN"), "jobs[0].weight", "NaN is not a number; write a finite decimal"),
    "Infinity": (swap("1.5", "Infinity"), "jobs[0].weight", "Infinity is not a number"),
    "-Infinity": (swap("1.5", "-Infinity"), "jobs[0].weight", "-Infinity is not a number"),
    "1e400": (swap("1.5", "1e400"), "jobs[0].weight", "1e400 is too large"),
    "1e-400": (swap("1.5", "1e-400"), "jobs[0].weight", "too many digits"),
    "1e-999999999": (swap("1.5", "1e-999999999"), "jobs[0].weight", "too many digits"),
    "negative weight": (swap("1.5", "-1.5"), "jobs[0].weight", "-1.5 is too small"),
    "forty digits": (swap("1.5", "1." + "123456789" * 4), "jobs[0].weight", "more digits than"),
    "a thousand digits": (swap("1.5", "0." + "3" * 999), "jobs[0].weight", "too many digits"),
    "empty id": (swap('"id": "b"', '"id": ""'), "jobs[1].id", "is an empty string"),
    "duplicate job": (
        swap('"id": "b"', '"id": "a"'),
        "jobs[1].id",
        'the id "a" is already used at jobs[0]',
    ),
    "duplicate server": (swap('"id": "s2"', '"id": "s1"'), "servers[1].id", "at servers[0]"),
    "dangling reference": (
        swap('"server": "s2"', '"server": "s9"'),
        "jobs[0].workers[1].server",
        'no server has the id "s9"; use one of the 2: s1, s2',
    ),
    "no server at all": (
        json.dumps(GOOD | {"servers": []}).encode(),
        "jobs[0].workers[0].server",
        "there is no server: add one",
    ),
    "over a server's GPUs": (
        swap('"gpus": 2', '"gpus": 5'),
        "jobs[1].workers[0].gpus",
        'server "s1" is over its GPUs by 1; give it more gpus, or move workers away',
    ),
    "duplicate field": (swap('"demand": 1', '"demand": 1, "demand": 1'), "demand", "stands twice"),
    "duplicate field below": (
        swap('"gpus": 2', '"gpus": 2, "gpus": 2'),
        "jobs[1].workers[0].gpus",
        "stands twice; keep one of the two",
    ),
    "deep nesting": (b'{"a":' * 10**5, "", "is nested too deeply"),
    "deep lists": (swap('"demand": 1', f'"demand": {"[" * 10**5}'), "", "is nested too deeply"),
    "nested a little": (swap('"good"', f"{'[' * 99}{']' * 99}"), "name", "is not a string"),
    "an empty range": (elastic(0, max_workers=1), "jobs[0].max_workers", "is below min_workers 2"),
    "no running time": (
        elastic(0, min_running_time=None),
        "jobs[0]",
        "needs one of min_running_time and running_times",
    ),
    "two running times": (elastic(1, min_running_time=9), "jobs[1]", "not both"),
    "too few running times": (
        elastic(1, running_times=[150]),
        "jobs[1].running_times",
        "has 1 entries; give 2",
    ),
    "running time of 0": (
        elastic(1, running_times=[150, 0]),
        "jobs[1].running_times[1]",
        "write a number above 0",
    ),
    "no workers": (elastic(0, min_workers=0), "jobs[0].min_workers", "write a number at least 1"),
    "negative capacity": (
        json.dumps(ELASTIC | {"capacity": -1}).encode(),
        "capacity",
        "write a number at least 0",
    ),
    "the same job twice": (elastic(1, id="A"), "jobs[1].id", "is already used at jobs[0]"),
    "another room's fields": (
        b'{"dlsched": 1, "problem": "reclaiming", "name": "x", "capacity": 3, "jobs": []}',
        "demand",
        "is missing",
    ),
}


def refuse(source: str, path: str, words: str, where: str | None = None) -> None:
    """Assert that Python and the command line refuse a source in the same one line."""
    with pytest.raises(dlsched.InstanceError) as caught:
        dlsched.load(source)
    error = caught.value
    assert (error.where, error.path) == (where or source, path)
    assert words in str(error)
    assert error.remedy and "\n" not in str(error) and len(str(error)) < 600
    ran = CliRunner().invoke(app, ["show", source])
    assert ran.exit_code == 2
    assert ran.stdout == ""
    assert ran.stderr == f"error: {error}\n"


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_file(name: str, tmp_path: Path) -> None:
    """A malformed file gives one line with its name, the field's path and the remedy."""
    content, path, words = MALFORMED[name]
    file = tmp_path / "bad.json"
    file.write_bytes(content)
    refuse(str(file), path, words)


@pytest.mark.parametrize("name", ["not JSON", "dangling reference", "1e400", "deep nesting"])
def test_malformed_file_in_gzip(name: str, tmp_path: Path) -> None:
    """Gzipping a malformed file changes nothing about its error."""
    content, path, words = MALFORMED[name]
    file = tmp_path / "bad.json.gz"
    file.write_bytes(gzip.compress(content))
    refuse(str(file), path, words)


def test_there_are_enough_kinds() -> None:
    """The table is the project's promise: at least thirty kinds of malformed file."""
    assert len(MALFORMED) >= 30


def test_the_good_instance_is_good() -> None:
    """What the malformed files were made of loads."""
    assert dlsched.load(GOOD).name == "good"
    assert dlsched.load(ELASTIC).name == "epoch"


def test_byte_order_mark(tmp_path: Path) -> None:
    """A UTF-8 byte order mark, which some editors write, is no error."""
    file = tmp_path / "marked.json"
    file.write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    assert dlsched.load(file).sha256 == dlsched.load(GOOD).sha256


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
    assert CliRunner().invoke(app, ["show", f"{tmp_path}/{file}"]).exit_code == 2


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
    ran = CliRunner().invoke(app, ["show", "lyra-figg5"])
    assert ran.exit_code == 2
    assert ran.stderr.startswith("error: no instance is called")


# The large ones: a child process with little memory must answer in little time.
# Each is (how to write it, the field, words of the error).
MEGABYTES = 200
LARGE: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "spaces": (lambda f: fill(f, b"", b" "), "", "begins with blanks only"),
    "brace and spaces": (lambda f: fill(f, b"{", b" "), "", "is not JSON (expecting"),
    "zeros": (lambda f: fill(f, b"", b"\0"), "", "is not UTF-8"),
    "one string": (lambda f: fill(f, b'{"dlsched": "', b"x", b'"}'), "dlsched", 'is "xxx'),
    "bomb": (lambda f: bomb(f, b" "), "", "larger than 256 MiB; split it"),
    "bomb of brackets": (lambda f: bomb(f, b"["), "", "larger than 256 MiB; split it"),
}
LIMIT_SECONDS = 20


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


def limited() -> None:
    """Allow the child 2 GiB of address space and a bounded time."""
    resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_SECONDS, LIMIT_SECONDS))


def command(*arguments: str, bounded: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the command line as a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", "from dlsched.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=limited if bounded else None,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )


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
    bad.write_bytes(MALFORMED["dangling reference"][0])
    target.write_text("precious")
    ran = command("solve", str(bad), "-o", str(target))
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.count("\n") == 1 and "Traceback" not in ran.stderr
    assert target.read_text() == "precious"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.json", "out.json"]


COMMANDS = {
    "show": ["show", "BAD"],
    "solve": ["solve", "BAD", "-o", "TARGET"],
    "verify": ["verify", "BAD", "BAD"],
    "compare": ["compare", "BAD", "-m", "exact"],
    "export": ["export", "BAD", "TARGET.mps"],
    "plot": ["plot", "BAD", "-o", "TARGET.png"],
}


@pytest.mark.parametrize("json_flag", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_refuses(name: str, json_flag: list[str], tmp_path: Path) -> None:
    """Every command that reads an instance refuses a bad one alike, and writes nothing."""
    bad = tmp_path / "bad.json"
    bad.write_bytes(MALFORMED["1e400"][0])
    places = {"BAD": str(bad), "TARGET": str(tmp_path / "new.json")}
    arguments = [
        word.replace("TARGET", places["TARGET"]) if word != "BAD" else places[word]
        for word in COMMANDS[name]
    ]
    ran = CliRunner().invoke(app, arguments + json_flag)
    assert ran.exit_code == 2
    assert ran.stdout == ""
    assert ran.stderr.startswith(f"error: {bad}: jobs[0].weight: 1e400 is too large;")
    assert list(tmp_path.iterdir()) == [bad]


# name: (changes to the good solution, the field that the error names, what it says of it)
BAD_SOLUTIONS: dict[str, tuple[dict[str, Any], str, str]] = {
    "no instance": ({"instance": 1}, "instance", "is not a string"),
    "another problem": ({"problem": "elastic"}, "problem", '"reclaiming" instance is needed'),
    "another instance": ({"instance_sha256": "0" * 64}, "instance_sha256", "is not the digest"),
    "no list": ({"returned": "s1"}, "returned", "is not a list; write [...]"),
    "a number as id": ({"returned": ["s1", 2]}, "returned[1]", "is not a string"),
    "unknown field": ({"value": 1}, "value", "is an unknown field; remove it"),
    "newer version": ({"dlsched": 3}, "dlsched", "upgrade dlsched"),
}


@pytest.mark.parametrize("name", BAD_SOLUTIONS)
def test_bad_solution(name: str, tmp_path: Path) -> None:
    """A solution that cannot be used is refused as an instance is, by verify and as a start."""
    changes, path, words = BAD_SOLUTIONS[name]
    good, bad = tmp_path / "good.json", tmp_path / "bad.sol.json"
    good.write_text(TEXT)
    bad.write_text(json.dumps(SOLUTION | changes))
    ran = CliRunner().invoke(app, ["verify", str(good), str(bad)])
    assert ran.exit_code == 2, ran.stdout
    assert f": {path}: " in ran.stderr and words in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_bad_value_in_a_mapping(tmp_path: Path) -> None:
    """A mapping's entry is named by its key."""
    epoch, bad = tmp_path / "epoch.json", tmp_path / "bad.sol.json"
    epoch.write_text(json.dumps(ELASTIC))
    envelope = {"dlsched": 1, "problem": "elastic", "instance": "epoch"}
    bad.write_text(json.dumps(envelope | {"workers": {"A": 2, "B": -1}}))
    ran = CliRunner().invoke(app, ["verify", str(epoch), str(bad)])
    assert ran.exit_code == 2
    assert ran.stderr == f"error: {bad}: workers.B: -1 is too small; write a number at least 0\n"


def test_instance_for_a_solution(tmp_path: Path) -> None:
    """Two instances instead of an instance and a solution: the error says so."""
    good = tmp_path / "good.json"
    good.write_text(TEXT)
    ran = CliRunner().invoke(app, ["verify", str(good), str(good)])
    assert ran.exit_code == 2
    assert ran.stderr == (
        f"error: {good}: is an instance, not a solution; give the solution's file\n"
    )


# From Python there are more kinds of value than JSON has.
REFUSED_NUMBERS = [
    True,
    "1",
    None,
    [],
    {},
    1j,
    b"1",
    object(),
    np.bool_(True),
    np.array([1, 2]),
    float("nan"),
    float("inf"),
    np.float64("nan"),
    np.float32("inf"),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("1e999999999"),
    Decimal("-1e999999999"),
    Decimal("1e-999999999"),
    Fraction(1, 3),
    Fraction(10**400),
    Fraction(1, 10**400),
    10**5000,
    -(10**5000),
    1e16,
    -0.5,
]


@pytest.mark.parametrize("value", REFUSED_NUMBERS, ids=[type(v).__name__ for v in REFUSED_NUMBERS])
def test_refused_python_number(value: object) -> None:
    """Whatever Python passes for a number, it is taken or refused with its path, at once."""
    data = GOOD | {"jobs": [{"id": "a", "weight": value, "workers": []}]}
    with pytest.raises(dlsched.InstanceError) as caught:
        dlsched.load(data)
    assert caught.value.path == "jobs[0].weight"
    assert caught.value.where == "the instance"


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (np.int8(3), 3),
        (np.uint64(3), 3),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(1.5), Fraction(3, 2)),
        (np.float16(0.25), Fraction(1, 4)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Decimal("0e999999999"), 0),
        (Fraction(1, 4), Fraction(1, 4)),
        (2.0, 2),
    ],
)
def test_accepted_python_number(value: Any, exact: Any) -> None:
    """Numbers of numpy and the standard library are as good as Python's own."""
    data = GOOD | {"jobs": [{"id": "a", "weight": value, "workers": []}]}
    weight = dlsched.load(data).jobs[0].weight  # type: ignore[attr-defined]
    assert weight == exact and type(weight) is type(exact)


def test_accepted_numpy_count() -> None:
    """A numpy integer counts things; a numpy float does not, whole or not."""
    assert dlsched.load(GOOD | {"demand": np.int64(2)}).demand == 2  # type: ignore[attr-defined]
    with pytest.raises(dlsched.InstanceError, match=r"demand: 2\.0 is not a whole number"):
        dlsched.load(GOOD | {"demand": np.float64(2)})


def test_accepted_containers() -> None:
    """Tuples and read-only mappings stand for lists and objects."""
    servers = tuple(MappingProxyType(server) for server in GOOD["servers"])
    same = dlsched.load(MappingProxyType(GOOD | {"servers": servers}))
    assert same.sha256 == dlsched.load(GOOD).sha256


ODD_VERSIONS = [np.array([1, 1]), 1.0, "1", [1], float("nan"), 10**5000]


@pytest.mark.parametrize("version", ODD_VERSIONS, ids=[type(v).__name__ for v in ODD_VERSIONS])
def test_odd_version(version: object) -> None:
    """A version of any type is compared without a stumble."""
    with pytest.raises(dlsched.InstanceError) as caught:
        dlsched.load(GOOD | {"dlsched": version})
    assert caught.value.path == "dlsched"


def test_self_reference() -> None:
    """Data that contains itself ends in an error, not in a recursion."""
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(dlsched.InstanceError, match=r"servers\[0\]: is not an object"):
        dlsched.load(GOOD | {"servers": loop})


def spots(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Give the path of every value in JSON data."""
    yield path
    for key, value in (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    ):
        yield from spots(value, (*path, key))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "s1", "a", "\x00", "\u202e"])
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "gpus", "server", "x", ""]), inner, max_size=3)
    ),
    max_leaves=6,
)
EVERY_SPOT = [(data, path) for data in (GOOD, ELASTIC) for path in spots(data) if path]


@settings(max_examples=400, deadline=None)
@given(spot=st.sampled_from(EVERY_SPOT), value=JSON | st.just("delete"))
def test_any_value_anywhere(spot: tuple[dict[str, Any], tuple[Any, ...]], value: Any) -> None:
    """Any JSON value in place of any field gives an instance or an InstanceError."""
    good, path = spot
    data = json.loads(json.dumps(good))
    parent = data
    for step in path[:-1]:
        parent = parent[step]
    if value == "delete":
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    try:
        loaded = dlsched.load(data)
    except dlsched.InstanceError as error:
        assert error.problem and error.remedy and len(str(error)) < 600
    else:
        assert dlsched.load(loaded.to_data()).sha256 == loaded.sha256
