"""What tests know of sweeps: the only module that says what a sweep's folder has, and where."""

import gzip
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import dlsched
from dlsched.sweeps import Store, merge, read_suite, run_suite, status

COMPARED = (
    "key", "instance", "instance_sha256", "problem", "variant", "variant_sha256", "method",
    "resolved_method", "options", "seed", "repetition", "status", "termination", "reason",
    "objective", "bound", "gap", "solution_sha256",
)  # fmt: skip
"""What is equal wherever, whenever and however often a run is made."""
SUITE = "suite.toml"
Rows = list[dict[str, Any]]


def planned(suite: str | Path = SUITE) -> list[Any]:
    """Return the runs of a suite, in order: key, instance (its name), problem, method and so on."""
    names = ("key", "method", "options", "seed", "repetition")
    return [
        SimpleNamespace(
            **{name: getattr(task, name) for name in names},
            instance=task.instance.name,
            problem=task.instance.problem,
        )
        for task in read_suite(suite).tasks()
    ]


def keys_of(suite: str | Path = SUITE) -> list[str]:
    """Return the keys of a suite's runs, in order."""
    return [run.key for run in planned(suite)]


def made(
    suite: Any = SUITE,
    out: str | Path = "out",
    *,
    after: int = 0,
    do: Callable[[], object] = lambda: None,
    **options: Any,
) -> Rows:
    """Make a sweep, and call `do` once, when so many runs are on disk (0: before the first).

    Returns the rows that were made, in the order of their arrival.
    """
    seen: Rows = []

    def note(new: dict[str, Any] | None = None) -> None:
        seen.extend([new] if new else [])
        if len(seen) == after:
            do()

    on_row, on_plan = (lambda row, left: note(row)), (lambda count: note())
    run_suite(suite, out, on_row=on_row, on_plan=on_plan, **options)
    return seen


def failed(suite: Any = SUITE, out: str | Path = "out", **options: Any) -> str:
    """Make a sweep that may be ended by an error; return its message, or nothing."""
    try:
        made(suite, out, **options)
    except dlsched.DlschedError as error:
        return str(error)
    return ""


def rows(out: str | Path = "out") -> Rows:
    """Return what a sweep has stored of its runs but simulations, in the order of the suite."""
    with Store(out) as store:
        return store.rows()


def bounds(out: str | Path = "out") -> Rows:
    """Return what a sweep has stored of bounds on simulations."""
    with Store(out) as store:
        return [row for row in store.simulations() if row["method"] == "bound"]


def row(out: str | Path = "out", **fields: Any) -> dict[str, Any]:
    """Return the only row with these fields."""
    (found,) = (r for r in rows(out) if all(r[name] == value for name, value in fields.items()))
    return found


def settled(out: str | Path = "out") -> Rows:
    """Return a sweep's rows without times, memory and moments."""
    return [{name: row[name] for name in COMPARED} for row in rows(out)]


def contents(out: str | Path = "out", simulated: bool = False) -> list[bytes]:
    """Return what each run, or simulation, has left: its solution, its log, or nothing."""
    with Store(out) as store:
        kept = store.simulations() if simulated else store.rows()
        return [gzip.decompress(store.content(r)) if r["solution_sha256"] else b"" for r in kept]


def returned(out: str | Path = "out") -> list[list[str]]:
    """Return which servers each solution of a sweep returns."""
    return [json.loads(content)["returned"] for content in contents(out) if content]


def database(out: str | Path = "out") -> Path:
    """Return the file with a sweep's rows."""
    return Path(out) / "results.sqlite"


def edit(out: str | Path, key: str, **columns: Any) -> None:
    """Change a stored row, as another machine or a fault might have written it."""
    names = ", ".join(f"{name} = ?" for name in columns)
    with closing(sqlite3.connect(database(out))) as base, base:
        done = base.execute(f"UPDATE runs SET {names} WHERE key = ?", [*columns.values(), key])
        assert done.rowcount == 1


def multiply(out: str | Path, times: int) -> None:
    """Repeat every row of a sweep under other keys, so that the sweep is large."""
    with closing(sqlite3.connect(database(out))) as base, base:
        names = [column[1] for column in base.execute("PRAGMA table_info(runs)")][1:]
        for k in range(1, times):
            base.execute(
                f"INSERT INTO runs (key, {', '.join(names)}) SELECT key || '-{k}', position + "
                f"{k * 10**6}, {', '.join(names[1:])} FROM runs WHERE key NOT LIKE '%-%'"
            )


def shard(k: int, n: int, out: str | Path = "out", suite: Any = SUITE, **options: Any) -> Any:
    """Make what is left of a shard of a sweep, which is begun if it is not."""
    return run_suite(suite, out, shard=f"{k}/{n}", **options)


def shard_arguments(shard: str, out: str | Path = "out") -> list[str]:
    """Return the arguments of `dlsched` that make a shard, as ``0/3``."""
    return ["bench", SUITE, "-o", str(out), "--shard", shard]


def begin(out: str | Path = "out") -> None:
    """Begin a sweep of shards without a run: by one that has none, of very many."""
    keys = [int(key, 16) for key in keys_of()]
    n = next(n for n in range(1000, 10**6) if all(key % n for key in keys))
    shard(0, n, out)


def shard_files(out: str | Path = "out", k: int | str = "*") -> list[Path]:
    """Return the files that attempts at shards have written."""
    return sorted(Path(out).glob(f"shards/{k}-of-*/*.sqlite"))


class State(NamedTuple):
    """How far the shards of a sweep are; `made` counts rows, those of repeated runs as well."""

    missing: int
    indices: str
    made: int
    done: list[int]


def state(out: str | Path = "out", n: int | None = None) -> State:
    """Return how far the shards of a sweep are, as a whole and (`done`) each."""
    found = status(out, n)
    made = int(found.nodes["made"].sum())
    return State(len(found.missing), found.indices, made, list(found.shards["done"]))


def merged(out: str | Path = "out") -> tuple[int, int, int, int, int]:
    """Join shards; return how many runs there are, are new, repeated, of other plans, missing."""
    m = merge(out)
    return m.runs, m.added, m.repeated, m.foreign, len(m.missing)


def copied(folder: Path, to: Path) -> Path:
    """Copy a folder and return the copy."""
    return Path(shutil.copytree(folder, to, dirs_exist_ok=True))


def simulations(suite: str | Path = SUITE, out: str | Path = "out") -> Rows:
    """Return a finished sweep's simulations with their metrics and bounds, in order."""
    frame = run_suite(suite, out, resume=True)
    found = frame[(frame["problem"] == "simulation") & (frame["method"] != "bound")]
    return [{str(n): v for n, v in line.dropna().items()} for _, line in found.iterrows()]


def meta_of(log: bytes, name: str) -> Any:
    """Return what the log of a simulation says of itself."""
    with closing(sqlite3.connect(":memory:")) as base:
        base.deserialize(log)
        (text,) = base.execute("SELECT value FROM meta WHERE key = ?", [name]).fetchone()
    return json.loads(text)
