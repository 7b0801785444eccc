"""Thousands of short runs on this machine, on executors, and in shards; and reports of many rows.

Small reclaiming instances, `lyra` and `random`.
Processor seconds are of a process for each way and of all that it started, so also of imports, of
a cluster's start and of what workers do between runs. Each way is preceded by one on this machine,
as other programs of the machine make all ways slower. MANY_RUNS states another number of runs;
executors that are not installed are left out.
"""

import ctypes
import hashlib
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from runs import Row

from dlsched.sweeps import Store, merge, run_suite
from dlsched.sweeps.report import write_report
from dlsched.sweeps.work import Outcome

SUITE = """
name = "many"
[[instances]]
generate = "reclaiming"
seeds = "0-{last}"
grid = {{ servers = [8, 10, 12, 14, 16] }}
[[methods]]
name = "lyra"
[[methods]]
name = "random"
seeds = [0, 1, 2, 3]
"""
RUNS = int(os.environ.get("MANY_RUNS", "2000"))
RUNS_PER_SEED = 25
SHARDS = 4
COMPARED = ("key", "status", "objective", "bound", "solution_sha256")
ROWS = 100_000


def write_suite(folder: Path, runs: int = RUNS) -> Path:
    """Write the suite of so many runs."""
    file = folder / "suite.toml"
    file.write_text(SUITE.format(last=runs // RUNS_PER_SEED - 1))
    return file


def dask(stack: ExitStack, folder: Path) -> Any:
    """Two Dask workers."""
    from distributed import LocalCluster

    where = {"dashboard_address": ":0", "local_directory": os.fspath(folder)}
    return stack.enter_context(LocalCluster(n_workers=2, threads_per_worker=1, **where))


def loky(stack: ExitStack, folder: Path) -> Any:
    """Two processes of loky."""
    from loky import get_reusable_executor

    return get_reusable_executor(max_workers=2)


def mpi(stack: ExitStack, folder: Path) -> Any:
    """Two processes of mpi4py beside the one that asks."""
    from mpi4py.futures import MPIPoolExecutor

    return stack.enter_context(MPIPoolExecutor())


def submitit(stack: ExitStack, folder: Path) -> Any:
    """Two jobs of submitit at a time, each a new interpreter with a minute's runs."""
    from submitit import AutoExecutor

    from dlsched.execution import Submitit

    jobs = AutoExecutor(folder=folder / "jobs", cluster="local")
    jobs.update_parameters(timeout_min=60)
    return Submitit(jobs, 2)


EXECUTORS: dict[str, Callable[[ExitStack, Path], Any]] = {
    "distributed": dask,
    "loky": loky,
    "mpi4py": mpi,
    "submitit": submitit,
}
"""Executors by the library that they need."""


def one_way(way: str, folder: Path) -> None:
    """Make the runs in one way; print the seconds, and those until the first row."""
    first: list[float] = []
    with ExitStack() as stack:
        made = {name.__name__: name for name in EXECUTORS.values()}.get(way)
        how = {"jobs": 2} if made is None else {"on": made(stack, folder)}
        began = time.perf_counter()
        run_suite(
            folder / "suite.toml",
            folder / way,
            on_row=lambda row, left: first.append(time.perf_counter() - began),
            **how,
        )
        print(json.dumps([time.perf_counter() - began, first[0]]))


def metered(command: list[str]) -> tuple[str, float]:
    """Run a command; return its output, and the processor seconds of all that descends from it."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # what it leaves behind is waited for here (Linux)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return output, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime


def runs() -> Iterator[Row]:
    """Yield the seconds of the same runs in each way."""
    ways = {way.__name__: way for name, way in EXECUTORS.items() if importlib.util.find_spec(name)}
    for way in (*ways, "shards"):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            write_suite(folder)
            local, other = measured("local", folder), measured(way, folder)
            if way != "shards":
                yield _way("local, two at a time", *local)
            about = ways[way].__doc__ if way in ways else f"{SHARDS} shards, two at a time; merge."
            shares = [f"{other[i] / local[i]:.2f}" for i in (0, 2)]
            same = settled(folder / way) == settled(folder / "local")
            yield _way(str(about).rstrip("."), *other) | {
                "of local: seconds, processor seconds": ", ".join(shares),
                "rows equal": "yes" if same else "NO",
            }


def _way(name: str, wall: float, first: float, spent: float) -> Row:
    row = {"table": 0, "way": name, "seconds": f"{wall:.0f}"}
    row["until the first row"] = f"{first:.1f}" if first else ""
    return row | {"processor seconds": f"{spent:.0f}"}


def measured(way: str, folder: Path) -> tuple[float, float, float]:
    """Return seconds, those until the first row, and processor seconds of one way."""
    command = [sys.executable, __file__, "way", way, os.fspath(folder)]
    if way == "mpi":
        mpiexec = Path(sys.executable).with_name("mpiexec")
        command[1:1] = ["-m", "mpi4py.futures"]
        command[:0] = [os.fspath(mpiexec) if mpiexec.exists() else "mpiexec", "-n", "3"]
    if way == "shards":
        bench = f"{sys.executable} -m dlsched bench {folder}/suite.toml -o {folder}/shards -q -j 1"
        both = "{ %s & %s & wait; }"
        lines = [f"{bench} --shard {k}/{SHARDS} >&2" for k in range(SHARDS)]
        pairs = [both % pair for pair in zip(lines[::2], lines[1::2], strict=True)]
        command = ["sh", "-c", "; ".join(pairs)]
    began = time.perf_counter()
    output, spent = metered(command)
    if way != "shards":
        seconds, first = json.loads(output.splitlines()[-1])
        return seconds, first, spent
    merging = time.process_time()
    assert merge(folder / "shards").runs == RUNS
    return time.perf_counter() - began, 0, spent + time.process_time() - merging


def settled(out: Path) -> list[tuple[object, ...]]:
    """Return what rows must have in common."""
    with Store(out) as store:
        return [tuple(row[name] for name in COMPARED) for row in store.rows()]


def report() -> Iterator[Row]:
    """Yield the figures of a report of `ROWS` rows, copies of 1,000 with other instances."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        run_suite(write_suite(folder, 1000), folder / "few", jobs=2)
        _copies(folder / "few", folder / "many")
        began = time.process_time()
        write_report(folder / "many")
        row: Row = {"table": 0, "processor seconds": f"{time.process_time() - began:.0f}"}
        largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        row["largest memory, MB"] = f"{largest:.0f}"
        names = {"page": "index.html", "runs.csv": "runs.csv", "runs.parquet": "runs.parquet"}
        for said, name in names.items():
            size = (folder / "many" / "report" / name).stat().st_size
            row[f"{said}, MB"] = f"{size / 1e6:.1f}"
        yield row


def _copies(few: Path, many: Path) -> None:
    """Write a store with the rows of another one under many names."""
    with Store(few) as store:
        rows, about = store.rows(), store.about

    def outcomes() -> Iterator[Outcome]:
        for copy in range(ROWS // len(rows)):
            for row in rows:
                texts = (f"{row[name]} {copy}" for name in ("key", "instance_sha256"))
                key, digest = (hashlib.sha256(text.encode()).hexdigest() for text in texts)
                changed = {
                    "key": key,
                    "instance": f"{row['instance']}-{copy}",
                    "instance_sha256": digest,
                    "source": f"{row['source']} {copy}",
                    "record": row["record"].replace(row["instance_sha256"], digest),
                }
                yield Outcome(row | changed)

    with Store(many, write=True) as store:
        store.plan((outcome.row for outcome in outcomes()), about)
        store.fill(outcomes())


if __name__ == "__main__":
    one_way(sys.argv[2], Path(sys.argv[3]))
