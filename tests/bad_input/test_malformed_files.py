"""Files that cannot be used: each is one error with file, field and remedy, in bounded memory."""

import gzip
import io
import json
import os
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from bad_input_data import GOOD, SOLUTION, TEXT, good, swap

import dlsched
from calls import python
from dlsched.problems.shares import read_rates
from dlsched.records import read_trace
from refused_calls import reports

RANGE = {"id": "a", "gpus_per_worker": 2, "min_workers": 2, "max_workers": 3}


def elastic(**job: Any) -> bytes:
    """Return the text of an elastic instance with one job of these fields."""
    head = {"dlsched": 1, "problem": "elastic", "name": "e", "capacity": 9}
    return json.dumps(head | {"jobs": [RANGE | job]}).encode()


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
    (good(servers=[]), "jobs[0].workers[0].server", "there is no server: add one"),
    (elastic(max_workers=1), "jobs[0].max_workers", "is below min_workers 2"),
    (elastic(), "jobs[0]", "needs one of min_running_time and running_tim"),
    (elastic(min_running_time=9, running_times=[9, 8]), "jobs[0]", "not both"),
    (elastic(running_times=[150]), "jobs[0].running_times", "has 1 entries; give 2"),
    (elastic(running_times=[150, 0]), "jobs[0].running_times[1]", "write a number above 0"),
]
for change, (said,) in reports(Path(__file__).with_name("swapped.txt")).items():
    path, words = said.removesuffix("...").split(": ", 1)
    MALFORMED.append((swap(*map(eval, change.split(" -> "))), path, words))


@pytest.mark.parametrize(("content", "path", "words"), MALFORMED, ids=[row[2] for row in MALFORMED])
def test_malformed_file(content: bytes, path: str, words: str, tmp_path: Path) -> None:
    """A malformed file, gzipped or not, is one line with its name, the field and the remedy."""
    plain, packed = tmp_path / "bad.json", tmp_path / "bad.json.gz"
    plain.write_bytes(b"\xef\xbb\xbf" + TEXT.encode())  # with a byte order mark it is good
    assert dlsched.load(plain).sha256 == dlsched.load(GOOD).sha256
    plain.write_bytes(content)
    packed.write_bytes(gzip.compress(content))
    for file in [plain] if not content or content.startswith(GZIP) else [plain, packed]:
        with pytest.raises(dlsched.InstanceError) as caught:
            dlsched.load(file)
        error = caught.value
        assert (error.where, error.path) == (str(file), path)
        assert words in str(error)
        assert error.remedy and "\n" not in str(error) and len(str(error)) < 600


PATHS = [
    ("missing.json", "no such file or directory"),
    ("no/such/file.json", "no such file or directory"),
    (".", r"is a (directory|folder)"),
    ("a\0b.json", "null"),
    ("x" * 5000 + ".json", "file name too long"),
    ("secret.json", "permission denied; check"),
]


@pytest.mark.parametrize(("name", "words"), PATHS, ids=[words for _, words in PATHS])
def test_unreadable_path(name: str, words: str, tmp_path: Path) -> None:
    """What cannot be opened is named, with the system's reason, whatever is read."""
    tmp_path.joinpath("secret.json").write_text(TEXT)
    tmp_path.joinpath("secret.json").chmod(0)
    is_root = name == "secret.json" and os.geteuid() == 0
    if is_root:  # who may read everything
        os.seteuid(65534)
    try:
        for read in (dlsched.load, dlsched.read_history, read_trace, read_rates):
            with pytest.raises(dlsched.InstanceError, match=words):
                read(f"{tmp_path}/{name}")
    finally:
        if is_root:
            os.seteuid(0)


@pytest.mark.parametrize("name", ["lyra-figg5", "7" * 5000, "\ud800"], ids=["typo", "long", "odd"])
def test_misspelled_name(name: str) -> None:
    """A name that is no file and not in the library is answered with what there is."""
    with pytest.raises(dlsched.DlschedError, match=r"no instance is called|cannot be read") as said:
        dlsched.load(name)
    assert len(str(said.value)) < 1000


LONG = "x" * 9000
PHILLY = {"jobid": "a", "status": "Pass", "vc": "v", "user": LONG, "attempts": []}
PHILLY["submitted_time"] = "2017-10-09 07:02:41"
HELIOS = "job_id,gpu_num,submit_time,start_time,end_time,duration,user\n"
DATE = "2020-04-01 00:00:00"
SACCT = "JobID|User|Account|Partition|State|Submit|Start|End|NodeList|AllocTRES|JobName\n"
TABLE = "id,submit,start,end,gpus"


def nodes(file: Path) -> object:
    """Read a file as the nodes of a history."""
    jobs = file.with_name("jobs.csv")
    jobs.write_text(f"{TABLE}\n1,1,1,9,1\n")
    return dlsched.read_history(jobs, nodes=file)


class Reader(NamedTuple):
    """What reads a file: its name, how it begins, a row of it; what of a file is limited."""

    read: Callable[..., object]
    name: str
    head: str
    row: str
    empty: str = "\n"
    most: int = 5_000_000
    what: str = "rows"


VALUES = 10_000_000, "values"
KUEUE = partial(dlsched.read_history, format="kueue")
SWF = partial(dlsched.read_history, format="swf")
READERS = {
    "document": Reader(
        dlsched.load, "x.json", '{"dlsched": 1, "servers": [', "[],", "[],", *VALUES
    ),
    "rates": Reader(read_rates, "x.json", "[", "[],", "[],", *VALUES),
    "kueue": Reader(KUEUE, "x.json", '{"items": [', "{},", "{},", *VALUES),
    "table": Reader(dlsched.read_history, "x.csv", f"{TABLE},user\n", f"1,1,1,9,1,{LONG}\n"),
    "nodes": Reader(nodes, "x.csv", "name,gpus\n", "a,1\n"),
    "trace": Reader(read_trace, "x.csv", HELIOS, f"a,1,{DATE},{DATE},{DATE},1,{LONG}\n"),
    "swf": Reader(SWF, "x.swf", "", f"; {LONG}\n"),
    "sacct": Reader(dlsched.read_history, "x.txt", SACCT, f"1|a|b|c|d|0|0|0|n|gpu=1|{LONG}\n"),
    "philly": Reader(read_trace, "cluster_job_log", "[", f"{json.dumps(PHILLY)},\n"),
}


@pytest.mark.parametrize("name", READERS)
def test_small_files_do_not_take_the_machine(name: str, tmp_path: Path) -> None:
    """No reader unpacks 200 times the size of a file."""
    reader = READERS[name]
    file = tmp_path / reader.name
    text = reader.head + reader.row * (9 * 2**21 // len(reader.row))
    file.write_bytes(gzip.compress(text.encode()))
    assert file.stat().st_size < 2**16
    with pytest.raises(dlsched.InstanceError, match="unpacks to more than 200 times its size; if"):
        reader.read(file)


LIMITED = [pytest.param(n, marks=[pytest.mark.slow] * (i >= 5)) for i, n in enumerate(READERS)][:-1]


@pytest.mark.parametrize("name", LIMITED)
def test_no_reader_parses_more_than_a_file_may_hold(name: str, tmp_path: Path) -> None:
    """A file of more values, rows or cells, be they empty, is refused with the limit."""
    reader = READERS[name]
    file = tmp_path / reader.name
    file.write_text(reader.head + reader.empty * (reader.most + 1))
    said = f"has more than {reader.most:,} {reader.what}; split it"
    with pytest.raises(dlsched.InstanceError, match=said) as caught:
        reader.read(file)
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
        for name, length in (("other", size), ("cluster_job_log", 2)):
            member = tarfile.TarInfo(name)
            member.size = length
            archive.addfile(member, io.BytesIO(bytes(length)) if mode == "w:gz" else None)
    if mode == "w":  # a hole takes no room
        os.truncate(file, size + 4096)
    with pytest.raises(dlsched.InstanceError, match=problem):
        read_trace(file)


CHILD = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
import dlsched
try:
    dlsched.load(sys.argv[1])
except dlsched.InstanceError as error:
    print(error)
"""
"""Reads a file in a process of 2 GiB of address space and a bounded time."""
LARGE = [(b"", b" ", "begins with blanks only"), (b"{", b" ", "is not JSON (expecting")]
LARGE += [(b'{"dlsched": "', b"x", "is not JSON"), (b"{" + b" " * 4096, b"\0", "is not JSON")]
LARGE += [(b"{" + b" " * (60 << 20), b" ", "larger than 256 MiB; split it")]


@pytest.mark.slow
@pytest.mark.parametrize(("head", "filling", "words"), LARGE)
def test_large_files(head: bytes, filling: bytes, words: str, tmp_path: Path) -> None:
    """Files of hundreds of megabytes are refused within bounded memory and time."""
    file = tmp_path / "x.json"
    with file.open("wb") as stream:
        stream.writelines([head, *[filling * 2**20] * 200])
    said = python(CHILD, file, env={"OPENBLAS_NUM_THREADS": "1"}).stdout
    assert said.startswith(f"{file}: {words}") and said.count("\n") == 1 and len(said) < 600


MANY: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "bad jobs": (lambda: {"jobs": [1] * 10**6}, "jobs[0]"),
    "bad ids": (lambda: {"servers": [{"id": 1, "gpus": 1}] * 10**5}, "servers[0].id"),
    "unknown fields": (lambda: {f"x{i}": i for i in range(10**5)}, "x0"),
    "long ids": (lambda: {"servers": [{"id": "x" * 10**7, "gpus": 1}] * 2}, "servers[1].id"),
    "long field": (lambda: {"x" * 10**7: 1}, "x" * 37 + "..."),
}


@pytest.mark.parametrize("name", MANY)
def test_many_flaws(name: str) -> None:
    """Only the first flaw is looked for, and a message stays short whatever is in the data."""
    changes, path = MANY[name]
    with pytest.raises(dlsched.InstanceError) as caught:
        dlsched.load(GOOD | changes())
    assert caught.value.path == path
    assert len(str(caught.value)) < 600
