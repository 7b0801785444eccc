"""What happens to a folder of results from outside: one clear error, and what is kept."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sweeps
from calls import refusal
from sweeps import Rows

RUNS = 20
"""Of the suite of shards."""


def overwrite(begin: float, end: float) -> None:
    """Overwrite a part of the database."""
    content = bytearray(sweeps.database().read_bytes())
    first, last = int(begin * len(content)), int(end * len(content))
    content[first:last] = b"\xa5" * (last - first)
    sweeps.database().write_bytes(content)


@pytest.mark.parametrize("part", [(0.4, 0.6), (0.0, 0.001), (0.05, 1.0), None])
def test_damaged_database(part: tuple[float, float] | None, finished: Path) -> None:
    """A damaged database, or record, is one line that names it, with 2, whoever reads it."""
    words = [str(sweeps.database()), "another folder"]
    if part:
        overwrite(*part)
    else:
        sweeps.edit("out", sweeps.keys_of()[1], record='{"problem": 1')
        words = ["the run of lyra on"]
    for command in (["bench", "suite.toml", "-o", "out", "--resume"], ["report", "out"]):
        said = refusal(*command)
        assert all(word in said for word in words)


def test_what_is_cut_off(finished: Path) -> None:
    """A cut-off sweep is not a shorter one; the message says how to read what is left."""
    content = sweeps.database().read_bytes()
    sweeps.database().write_bytes(content[: len(content) * 2 // 3])
    said = sweeps.failed(resume=True)
    assert "is damaged" in said and "sqlite3 out/results.sqlite .recover" in said


SMALL = """
import os, resource, shutil, subprocess, sys
kind, size, *command = sys.argv[1:]
os.makedirs("before", exist_ok=True)
os.makedirs("small")
if kind == "disk":
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", "small"], check=True)
shutil.copytree("before", "small/out")
if kind == "disk":
    free = os.statvfs("small").f_bavail * os.statvfs("small").f_bsize
    with open("small/filler", "wb") as file:
        file.write(bytes(free - int(size)))
else:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), resource.RLIM_INFINITY))
code = subprocess.call([sys.executable, "-m", "dlsched", *command])
if kind == "file":
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
shutil.copytree("small/out", "kept")
sys.exit(code)
"""
"""Runs dlsched where little can be written, and copies what is there then; a disk is its own."""
PLACES = ["file", pytest.param("disk", marks=pytest.mark.slow)]
"""Files are limited in size, or a disk is full."""
SIZES = {"file": 90_000, "disk": 180_000}
"""Bytes that some of the runs take, with the log and the shared memory of the store."""


def in_small(place: str, size: int, *command: object) -> str:
    """Run a command whose folder ``small/out``, made as ``before``, cannot grow by much."""
    own = ["unshare", "-rm"] if place == "disk" else []
    arguments = [*own, sys.executable, "-c", SMALL, place, str(size), *map(str, command)]
    if own and subprocess.call([*own, "mount", "-t", "tmpfs", "none", "/tmp"]):
        pytest.skip("this process may mount nothing, not even for itself")
    ran = subprocess.run(arguments, check=False, capture_output=True, text=True)
    assert ran.returncode == 2, ran.stderr
    return ran.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("place", PLACES)
def test_full_disk(place: str, unplanned: Path, whole: Rows) -> None:
    """On a full disk the error names the file and --resume; what was finished is kept."""
    said = in_small(place, SIZES[place], "bench", "suite.toml", "-o", "small/out", "--quiet")
    assert said.startswith("error: small/out/") and "finished runs are kept" in said, said
    assert "--resume" in said
    before = sweeps.settled("kept")
    assert 0 < len(before) < RUNS and all(row in whole for row in before)
    assert len(sweeps.made("suite.toml", "kept", resume=True)) == RUNS - len(before)
    assert sweeps.settled("kept") == whole


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_full_disk_of_a_shard_and_at_merge(place: str, unplanned: Path, whole: Rows) -> None:
    """Of a shard it is one error that says what is kept; the rows before it are whole.

    A merge on a full disk writes nothing; the same merge, with room, is whole.
    """
    sweeps.begin("before")
    said = in_small(place, SIZES[place], *sweeps.shard_arguments("0/1", "small/out"), "--quiet")
    assert said.startswith("error: small/out/") and "submit the shard again" in said, said
    left = sweeps.state("kept", 1).missing
    assert 0 < left < RUNS
    sweeps.copied(Path("kept"), Path("before"))
    sweeps.merged("before")
    before = sweeps.settled("before")
    sweeps.shard(0, 1, "before")
    assert sweeps.state("before", 1).made == RUNS
    for folder in ("small", "kept"):
        shutil.rmtree(folder)
    said = in_small(place, 40_000, "merge", "small/out")
    assert said.startswith("error: small/out/") and "dlsched merge" in said and "kept" in said, said
    assert sweeps.settled("kept") == before
    assert sweeps.merged("kept")[0] == RUNS and sweeps.settled("kept") == whole
