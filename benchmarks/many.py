"""Ten thousand short runs on this machine, on Dask, and in shards; and reports of many rows.

    python benchmarks/many.py [runs plan report]

Small reclaiming instances, `lyra` and `random`; the figures go into benchmarks/figures/many.md.
Processor seconds are of this process and of all that it started, and do not depend on what else
the machine does; seconds do. Those of Dask begin when its cluster runs, whose start counts among
the processor seconds. The rows of all ways are compared, but for times.
"""

from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from dlsched.display.table import Row
from dlsched.sweeps import Store, merge, read_suite, run_suite
from dlsched.sweeps.report import write_report
from dlsched.sweeps.run import shard_files
from dlsched.sweeps.work import Outcome

SUITE = """
name = "many"
[[instances]]
generate = "reclaiming"
seeds = [{seeds}]
grid = {{ servers = [8, 10, 12, 14, 16] }}
[[methods]]
name = "lyra"
[[methods]]
name = "random"
seeds = [0, 1, 2, 3]
"""
RUNS = 10_000
IDLE_SECONDS = 20
SHARDS = 4
COMPARED = ("key", "status", "objective", "solution_sha256")
ROWS = 100_000
WORKLOADS = """
name = "planned"
[[simulation]]
trace = "sample-philly"
grid = {{ servers = [{servers}], gpus = [4, 8] }}
policies = ["fifo", "srtf", "las", "srsf", "tiresias"]
seeds = [0, 1, 2, 3, 4]
[[simulation]]
generate = "lyra"
grid = {{ servers = [4, 5, 6, 7, 8], load = [0.7, 0.8, 0.9, 0.95], wrong = [0, 0.2] }}
workload_seeds = [{seeds}]
policies = ["fifo", "lyra", "opportunistic", "gandiva", "afs"]
bounds = true
"""


def numbers(first: int, last: int) -> str:
    """Return numbers with commas."""
    return ", ".join(map(str, range(first, last)))


def suite(folder: Path) -> Path:
    """Write the suite of `RUNS` runs."""
    file = folder / "suite.toml"
    file.write_text(SUITE.format(seeds=numbers(0, RUNS // 25)))
    return file


def processor() -> float:
    """Return the processor seconds of this process and of those that it started and that ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def settled(out: Path) -> list[tuple[object, ...]]:
    """Return what rows must have in common."""
    with Store(out) as store:
        return [tuple(row[name] for name in COMPARED) for row in store.rows()]


class Clock:
    """When runs begin, when the first row arrives, and when all are made."""

    def __init__(self) -> None:
        self.first = math.nan

    def begin(self) -> None:
        """Begin to count."""
        self.began = time.perf_counter()

    def row(self, row: Row, left: int) -> None:
        """Note when the first row arrives, and the last."""
        if math.isnan(self.first):
            self.first = self.seconds

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self.began


def local(folder: Path, file: Path, clock: Clock) -> float:
    """Two runs at a time on this machine; return the seconds."""
    clock.begin()
    run_suite(file, folder / "local", jobs=2, on_row=clock.row)
    return clock.seconds


def dask(folder: Path, file: Path, clock: Clock) -> float:
    """Two Dask workers; return the seconds."""
    import distributed

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", local_directory=str(folder)
    ) as cluster:
        clock.begin()
        run_suite(file, folder / "dask", on=cluster, on_row=clock.row)
        return clock.seconds


def idle() -> float:
    """Return the processor seconds that a Dask cluster of two workers takes in a second."""
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False),
    ):
        here = psutil.Process()
        family = [here, *here.children(recursive=True)]
        used = [sum(process.cpu_times()[:2]) for process in family]
        time.sleep(IDLE_SECONDS)
        now = [sum(process.cpu_times()[:2]) for process in family]
    return (sum(now) - sum(used)) / IDLE_SECONDS


def sharded(folder: Path, file: Path, clock: Clock) -> float:
    """Four shards, two at a time, and their merge; return the seconds."""
    clock.begin()
    command = [sys.executable, "-m", "dlsched", "bench", str(file), "-o", str(folder / "shards")]
    for pair in ((0, 1), (2, 3)):
        running = [
            subprocess.Popen(
                [*command, "--quiet", "--jobs", "1", "--shard", f"{k}/{SHARDS}"],
                stdout=subprocess.DEVNULL,
            )
            for k in pair
        ]
        assert [process.wait() for process in running] == [0, 0]
    began = time.process_time()
    assert merge(folder / "shards").runs == RUNS
    print(f"merge: {time.process_time() - began:.1f} processor seconds", file=sys.stderr)
    return clock.seconds


def runs() -> Iterator[str]:
    """The same runs in three ways."""
    yield f"## {RUNS:,} short runs\n"
    load = os.getloadavg()[0]
    yield f"Load of the machine when it began: {load:.1f}.\n"
    yield (
        "| way | seconds | until the first row | processor seconds | rows equal to local |\n"
        "|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        file = suite(folder)
        for way in (local, dask, sharded):
            clock, used = Clock(), processor()
            seconds = way(folder, file, clock)
            spent = processor() - used
            name = {"sharded": "shards"}.get(way.__name__, way.__name__)
            equal = settled(folder / name) == settled(folder / "local")
            said = {"local": "local, two at a time", "dask": "Dask, two workers"}
            shown = said.get(name, f"{SHARDS} shards, two at a time, and merge")
            first = "" if math.isnan(clock.first) else f"{clock.first:.1f}"
            same = "yes" if equal else "NO"
            yield f"| {shown} | {seconds:.0f} | {first} | {spent:.0f} | {same} |"
        files = [file for some in shard_files(folder / "shards").values() for file in some]
        written = sum(file.stat().st_size for file in files)
        merged = (folder / "shards" / "results.sqlite").stat().st_size
        yield "\n| what | bytes per run |\n|---|---|"
        yield f"| files of shards ({len(files)}) | {written / RUNS:.0f} |"
        yield f"| merged store | {merged / RUNS:.0f} |"
    yield (
        f"\nA Dask cluster of two workers that makes nothing takes {idle():.2f} processor seconds "
        "a second; its start takes 2 to 3."
    )


def plan() -> Iterator[str]:
    """Planning of 10,000 simulations."""
    yield "## Planning simulations\n"
    yield "| entries | processor seconds |\n|---|---|"
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "suite.toml"
        file.write_text(WORKLOADS.format(servers=numbers(2, 102), seeds=numbers(0, 21)))
        began = time.process_time()
        count = len(read_suite(file).tasks())
        yield f"| {count:,} | {time.process_time() - began:.1f} |"


def report() -> Iterator[str]:
    """Yield the figures of a report of `ROWS` rows, copies of 1,000 with other instances."""
    yield f"## A report of {ROWS:,} rows\n"
    yield "| processor seconds | largest memory, MB | page, MB | runs.csv, MB | runs.parquet, MB |"
    yield "|---|---|---|---|---|"
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        file = folder / "suite.toml"
        file.write_text(SUITE.format(seeds=numbers(0, 40)))
        run_suite(file, folder / "few", jobs=2)
        _copies(folder / "few", folder / "many")
        began = time.process_time()
        write_report(folder / "many")
        spent = time.process_time() - began
        largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        names = ("index.html", "runs.csv", "runs.parquet")
        sizes = [(folder / "many" / "report" / name).stat().st_size / 1e6 for name in names]
        yield f"| {spent:.0f} | {largest:.0f} | {' | '.join(f'{size:.1f}' for size in sizes)} |"


def _copies(few: Path, many: Path) -> None:
    """Write a store with the rows of another one under many names."""
    import hashlib

    with Store(few) as store:
        rows, about = store.rows(), store.about
    keys = [
        hashlib.sha256(f"{row['key']} {copy}".encode()).hexdigest()
        for copy in range(ROWS // len(rows))
        for row in rows
    ]

    def outcomes() -> Iterator[Outcome]:
        for i, key in enumerate(keys):
            row, copy = rows[i % len(rows)], i // len(rows)
            digest = hashlib.sha256(f"{row['instance_sha256']} {copy}".encode()).hexdigest()
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


SECTIONS = {"runs": runs, "plan": plan, "report": report}
