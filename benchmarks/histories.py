"""Records of clusters: what they explain, what policies would have done, and what a study costs.

    python benchmarks/histories.py [shipped excerpts replay read bound study killed]

Every row is a process of its own. Seconds are those of the processor in this process; memory is the
most that it had resident. `excerpts` needs the excerpts of real records beside the checkout. The
figures go into benchmarks/figures/histories.md.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
from figures import arguments, write
from simulation_scale import SHARED, SIZES, WEIGHTS, Cost, _alone

import dlsched
from dlsched import History, read_history
from dlsched.simulation import Cluster, Period, Workload, simulate
from dlsched.simulation.bounds import bound

EXCERPTS = SHARED / "history"
COLUMNS = (
    "jobid,jobidraw,cluster,partition,qos,account,group,gid,user,uid,submit,eligible,start,end,"
    "elapsed,exitcode,state,nnodes,ncpus,reqcpus,reqmem,reqtres,alloctres,timelimit,nodelist,"
    "jobname"
)
SLURM = ("backfill", None, {"order": "priority", "conservative": True})
POLICIES = ["fifo", "backfill", "srsf", "muri_s"]
MEAN_SECONDS = 11_200
"""About the mean of the running times, as in simulation_scale.py."""
LOAD = 0.9
"""GPU time of the jobs over that of the cluster while they arrive, as in simulation_scale.py."""
REPLAY = (10_664, 102)
"""Jobs and nodes of the record that issue 34 names."""
LARGE = (100_000, 512)
FOUR = ["fifo", "backfill", "srtf", "srsf"]
ROWS = 1_000_000


def record(count: int, nodes: int, folder: Path) -> tuple[Path, Path]:
    """Write what `sacct` and a table of the nodes would say of a simulation of `fifo`."""
    rng = random.Random(count)
    gpus = sum(g * w for g, w in zip(SIZES, WEIGHTS, strict=True)) / 100
    rate = nodes * 8 * LOAD / (gpus * MEAN_SECONDS)
    now, jobs = 0.0, []
    for i in range(count):
        now += rng.expovariate(rate)
        work = round(min(rng.lognormvariate(8.2, 1.5), 2e6)) + 1
        jobs.append(
            {
                "id": f"j{i}",
                "submit": int(now),
                "gpus": rng.choices(SIZES, WEIGHTS)[0],
                "work": work,
                "estimate": work * rng.choice([1, 2, 5]),
                "tenant": rng.choice("abcdefgh"),
            }
        )
    workload = Workload.parse({"name": "made", "jobs": jobs}, "made")
    run = simulate(workload, Cluster.uniform(nodes, 8), "fifo")
    folder.mkdir(parents=True, exist_ok=True)
    text, table = folder / "sacct.txt", folder / "nodes.csv"
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    import_module("sacct_writer").write_sacct(run, text)
    table.write_text("name,gpus\n" + "".join(f"s{i + 1},8\n" for i in range(nodes)))
    return text, table


def rows(label: str, history: History, **options: Any) -> Iterator[str]:
    """Yield the lines of a record's study."""
    study = dlsched.study(history, POLICIES, **options)
    check, table = study.check, study.table
    difference = check.details["largest_difference"]
    share = study.explained.share
    for row in table.itertuples():
        names = ("mean_wait", "p95_wait", "mean_jct", "saved_wait", "later")
        cells = [_cell(getattr(row, name)) for name in names]
        gap = "-" if pd.isna(row.gap) else f"{100 * row.gap:.1f}"
        yield f"| {label} | {row.policy} | {' | '.join(cells)} | {gap} |"
    yield (
        f"\n{len(history.jobs):,} jobs, {int(history.jobs['start'].notna().sum()):,} started, "
        f"{len(study.recorded.jobs):,} counted; the replay differs by {difference:g} s; "
        f"{int(100 * share)} % of the waiting is explained. The page says: {study.verdict.headline}"
        + "".join(f" {sentence}" for sentence in study.verdict.sentences)
        + "\n"
    )


def _cell(value: float | None) -> str:
    """Return a number for a table."""
    return "-" if pd.isna(value) else f"{value:,.0f}"


HEAD = (
    "\n| record | policy | mean wait, s | p95 wait, s | mean completion, s | saved, s | later | "
    "gap, % |\n|---|---|---|---|---|---|---|---|"
)


def shipped() -> Iterator[str]:
    """The samples of Philly and Helios that come with dlsched."""
    yield (
        "## Philly and Helios\n\nThe samples that come with dlsched, as histories; policies know "
        "the limits where there are any. `later` counts the jobs that would have waited longer "
        "than recorded, `gap` is the share of the mean completion time above the bound."
    )
    for name in ("sample-philly", "sample-helios"):
        yield HEAD
        yield from rows(name, read_history(name))


def excerpts() -> Iterator[str]:
    """Excerpts of real records, and of one that Slurm wrote of 8 GPUs."""
    yield "## Excerpts of real records\n\nA day of a Slurm cluster, HPC2N, and a Slurm of ours."
    real = {
        "Slurm, 8 nodes, 3 days": ("sacct_pozidriv_excerpt.txt", COLUMNS, "cpu"),
        "HPC2N, SWF": ("seth_accasim_25jobs.swf", None, "cpu"),
        "Slurm 22.05, 8 GPUs": ("sacct_slurm2205_8gpu.txt", None, "gpu"),
    }
    for label, (file, columns, resource) in real.items():
        form = "swf" if file.endswith("swf") else "sacct"
        path = EXCERPTS / file
        yield HEAD
        history = read_history(path, form, names=columns, resource=resource, timezone="UTC")
        yield from rows(label, history)
    delay = history.explained.delay
    yield (
        "\nThe last one again, where a job holds its GPUs before it runs for as long as Slurm held "
        f"jobs back on average, {delay:.1f} s, and what is said to run is backfilling that delays "
        "no job of higher priority, as Slurm's:"
    )
    yield HEAD
    yield from rows("Slurm 22.05, 8 GPUs", history, delay=delay, ran=SLURM)


def _replay(count: int, nodes: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        text, table = record(count, nodes, Path(folder))
        read, history = Cost.of(lambda: read_history(text, timezone="UTC", nodes=table))
        period: Period = history.within(None, None)
        check, report = Cost.of(period.check)
        assert report and report.details["largest_difference"] == 0
        explain, explained = Cost.of(lambda: period.explained)
    return (
        f"| {count:,} | {nodes} | {read.seconds:.1f} | {check.seconds:.1f} | {explain.seconds:.1f} "
        f"| {100 * explained.share:.0f} | {explain.memory:.0f} |"
    )


def replay() -> Iterator[str]:
    """The check of a record: its starts replayed, and audited."""
    yield (
        "## Replay and audit\n\nA simulation of first in, first out written as `sacct` text, read "
        "back; then its recorded starts are simulated, and audited.\n\n"
        "| jobs | nodes | read, s | replay and audit, s | explain, s | explained, % | memory, MB "
        "|\n"
        "|---|---|---|---|---|---|---|"
    )
    yield _alone(_replay, *REPLAY)


def _read() -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sacct.txt"
        begin = datetime(2026, 1, 1, tzinfo=UTC)
        times = [(begin + timedelta(seconds=s)).strftime("%Y-%m-%dT%H:%M:%S") for s in range(10**6)]
        with path.open("w") as file:
            file.write(
                "JobID|User|Account|Partition|State|Submit|Eligible|Start|End|Elapsed|Timelimit|"
                "NodeList|ReqTRES|AllocTRES|JobName\n"
            )
            for i in range(ROWS):
                # A thousand nodes, each of which runs one job after the other.
                first = min(i + 100, 10**6 - 1)
                last = min(first + 900, 10**6 - 1)
                length = last - first
                spent = f"00:{length // 60:02}:{length % 60:02}"
                tres = "cpu=4,mem=16G,node=1,billing=4,gres/gpu=4"
                file.write(
                    f"{i}|u{i % 97}|a{i % 7}|gpu|COMPLETED|{times[i]}|{times[i]}|{times[first]}|"
                    f"{times[last]}|{spent}|01:00:00|n{i % 1000:04}|{tres}|{tres}|train\n"
                )
        size = path.stat().st_size / 1e6
        del times
        cost, history = Cost.of(lambda: read_history(path, timezone="UTC"))
    return f"| {len(history.jobs):,} | {size:.0f} | {cost.seconds:.1f} | {cost.memory:.0f} |"


def read() -> Iterator[str]:
    """A million rows of sacct."""
    yield "## Reading\n\n| rows | file, MB | s | memory, MB |\n|---|---|---|---|"
    yield _alone(_read)


def _bound(count: int, nodes: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        text, table = record(count, nodes, Path(folder))
        period = read_history(text, timezone="UTC", nodes=table).within(None, None)
        jobs = period.workload("limit")
        cost, found = Cost.of(lambda: bound(jobs, period.cluster, "mean_jct"))
        mean = period.outcome()["jct"].mean()
    gap = 100 * (1 - float(found.value) / mean)
    return f"| {count:,} | {nodes} | {cost.seconds:.1f} | {cost.memory:.0f} | {gap:.1f} |"


def bounds() -> Iterator[str]:
    """The certified bound of a study."""
    yield (
        "## The bound\n\n`gap` is the share of the recorded mean completion time above it: what "
        "the scheduler left, and what the bound is weak by.\n\n"
        "| jobs | nodes | s | memory, MB | gap, % |\n|---|---|---|---|---|"
    )
    yield _alone(_bound, 3_000, 29)
    yield _alone(_bound, *REPLAY)


def _study(count: int, nodes: int) -> list[str]:
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        text, table = record(count, nodes, place)
        spent, history = Cost.of(lambda: read_history(text, timezone="UTC", nodes=table))
        total = spent.seconds
        lines.append(f"| read | {spent.seconds:.0f} | {spent.memory:.0f} |")
        steps: dict[str, float] = {}
        last = ["", time.process_time()]

        def tell(what: str, _done: int, _total: int) -> None:
            now = time.process_time()
            if what != last[0]:
                print(f"{now:.0f} s: {what}", file=sys.stderr, flush=True)
            steps[last[0]] = steps.get(last[0], 0.0) + now - last[1]
            last[:] = [what, now]

        cost, study = Cost.of(
            lambda: dlsched.study(
                history, FOUR, bounds=False, folder=place / "out", on_progress=tell
            )
        )
        tell("", 0, 0)
        total += cost.seconds
        lines += [f"| {what} | {s:.0f} | |" for what, s in steps.items() if what]
        cost, _ = Cost.of(lambda: study.save(place / "out"))
        total += cost.seconds
        lines.append(f"| page, tables and pictures | {cost.seconds:.0f} | {cost.memory:.0f} |")
    return [*lines, f"| all | {total:.0f} | {cost.memory:.0f} |"]


def study() -> Iterator[str]:
    """100,000 jobs under four policies, without bounds."""
    yield (
        f"## A study of {LARGE[0]:,} jobs\n\nOn {LARGE[1]} nodes under {', '.join(FOUR)}, without "
        "bounds, into a folder; seconds of the processor.\n\n"
        "| step | s | memory, MB |\n|---|---|---|"
    )
    yield from _alone(_study, *LARGE)


def killed() -> Iterator[str]:
    """The same command ended by SIGKILL and called again."""
    yield (
        "## Killed and called again\n\n`dlsched study` of 10,664 jobs under fifo and srtf, without "
        "bounds, on the clock.\n\n| run | s | tables |\n|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        text, table = record(*REPLAY, place)
        names = ["whole", "killed"]
        command = [sys.executable, "-m", "dlsched", "study", str(text), "--nodes", str(table)]
        command += ["--timezone", "UTC", "-p", "fifo", "-p", "srtf", "--no-bounds", "-o"]
        took = {}
        for name in names:
            began = time.monotonic()
            if name == "killed":
                process = subprocess.Popen([*command, str(place / name)], stderr=subprocess.DEVNULL)
                # In the second simulation, whose log is not complete then.
                log = place / name / "runs" / "srtf.log"
                while not (log.exists() and log.stat().st_size > 1_000_000):
                    time.sleep(0.05)
                process.kill()
                assert process.wait() < 0
                yield f"| killed in the simulation of srtf | {time.monotonic() - began:.0f} | |"
                began = time.monotonic()
            done = subprocess.run([*command, str(place / name)], capture_output=True, check=True)
            assert done.returncode == 0
            took[name] = time.monotonic() - began
        same = all(
            (place / "whole" / file).read_bytes() == (place / "killed" / file).read_bytes()
            for file in ("jobs.csv", "table.csv")
        )
        yield f"| called again | {took['killed']:.0f} | {'equal' if same else 'DIFFERENT'} |"
        yield f"| not killed | {took['whole']:.0f} | |"


SECTIONS = {
    "shipped": shipped,
    "excerpts": excerpts,
    "replay": replay,
    "read": read,
    "bound": bounds,
    "study": study,
    "killed": killed,
}

if __name__ == "__main__":
    write("histories", SECTIONS, arguments())
