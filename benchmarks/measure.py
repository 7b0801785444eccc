"""Measure sections of figure pages, and store their rows.

    python benchmarks/measure.py PAGE [section ...]
    python benchmarks/measure.py --stale [--seconds 3600] [--part K/N]

The second measures what `stale.py` lists, the shortest first, and begins no section after the time.
Part K, from 1, of N has every Nth page: parts may run side by side, and may be stopped and begun
again. What fails is reported, and the rest goes on.

A section's rows come from a function: that of the section's name in benchmarks/<page>.py, or the
`source` that benchmarks/tables/<page>.toml names, as "module:function", with its `arguments`. A
function yields rows as dicts of numbers and texts; "table" is the number of a section's table, if
its tables are not made of runs. Each section is measured in a process of its own, so that its stamp
has the modules that it used.
"""

import argparse
import json
import math
import multiprocessing
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

import pandas as pd
from code_version import ROOT, SWEPT, commit_of_code, digest, imported, modules_of, tree_of_code
from stale import stale
from tables import HERE, ROWS, cell, names, spec, stamps, stored, write


def machine() -> str:
    """Return the processor, its cores, and the versions that made the figures."""
    from dlsched.sweeps import task as recorded  # now, as what rows are made with is in their stamp

    python, *packages = recorded.versions().items()
    said = ", ".join(f"{name} {version}" for name, version in packages)
    return f"{recorded.machine()}; Python {python[1]}; {said}."


def rows_of(page: str, section: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a section."""
    module, _, function = section.get("source", page).partition(":")
    owner = import_module(module)
    table = getattr(owner, "SECTIONS", {})
    call = table.get(section["name"]) or getattr(owner, function or section["name"])
    return [*call(**section.get("arguments", {}))]


def swept(suite: str, only: str = "") -> Iterator[dict[str, Any]]:
    """Run what is left of a suite, and yield its rows, with what the names of instances say.

    `only` is a text in the parts of the suite that are run. Runs with other code are not taken.
    """
    from dlsched.results.performance_profiles import label_of
    from dlsched.sweeps import Store
    from dlsched.sweeps.simulations import simulation_rows
    from dlsched.sweeps.stored_runs import evaluate_rows

    head, *parts = re.split(r"\n(?=\[\[)", (HERE / "suites" / f"{suite}.toml").read_text("utf-8"))
    parts = [part for part in parts if only in part]
    named = re.sub(r"\W+", "-", only).strip("-")
    out = ROOT / "results" / "-".join(filter(None, (suite, named, tree_of_code())))
    out.parent.mkdir(exist_ok=True)
    file = out.with_suffix(".toml")
    file.write_text("\n".join((head, *parts)), "utf-8")
    command = [sys.executable, "-m", "dlsched", "bench", file, "-o", out, "--resume"]
    places = [os.fspath(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]  # of their methods
    path = {"PYTHONPATH": os.pathsep.join(places)}
    # Its status also tells of runs that were refused or rejected, as rows do.
    subprocess.run(command, check=False, cwd=ROOT, env=os.environ | path)
    with Store(out) as store:
        if left := sum(status is None for status in store.statuses().values()):
            raise SystemExit(f"{left} runs of {suite} were not made")
        runs = evaluate_rows(store.rows()) + simulation_rows(store.simulations())
    SWEPT.update(modules_of({run["problem"] for run in runs}))
    for run in runs:
        label = label_of(run).replace("{}", "")
        drawn = dict(re.findall(r"-(\w+)=(.*?)(?=-\w+=|-\d+$)", run["instance"]))
        found = drawn | {"method": label, "workload": run["instance"].rpartition("-")[0]}
        yield run | {name: _number(value) for name, value in found.items()}


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def long(section: str, rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows with a line for each value."""
    lines = []
    for number, row in enumerate(rows):
        for column, value in row.items():
            if column != "table" and not pd.isna(value):
                made = cell(value)
                text = made.text if isinstance(value, str) else None
                where = (section, str(row.get("table", "runs")), number, column)
                lines.append((*where, made.numbers, text))
    return pd.DataFrame(lines, columns=["section", "table", "row", "column", "numbers", "text"])


def measure(page: str, section: Mapping[str, Any]) -> None:
    """Measure a section and store its rows in place of those that are there."""
    commit, began = commit_of_code(), time.perf_counter()
    rows = rows_of(page, section)
    if not rows:
        raise SystemExit("no rows")
    modules, seconds = imported(), time.perf_counter() - began
    stamp = {"commit": commit, "machine": machine(), "seconds": seconds}
    stamp |= {"modules": json.dumps(modules), "digest": digest(modules)}
    store(page, section["name"], long(section["name"], rows).assign(**stamp))
    write(page)


def store(page: str, section: str, frame: pd.DataFrame) -> None:
    """Put the rows of a section into the file of their page."""
    # Read now: another process may have measured another section meanwhile.
    kept = stored(page)
    parts = [part for part in (kept[kept["section"] != section], frame) if len(part)]
    whole = pd.concat(parts, ignore_index=True)
    order = {part["name"]: i for i, part in enumerate(spec(page)["sections"])}
    whole = whole.sort_values("section", key=lambda s: s.map(order), kind="stable")
    ROWS.mkdir(exist_ok=True)
    file = ROWS / f"{page}.parquet"
    new = file.with_suffix(".new")
    whole.to_parquet(new, index=False, compression="zstd")
    new.replace(file)  # at once: whoever is stopped in between leaves the earlier rows


def old(part: str) -> list[tuple[str, str]]:
    """Return the stale sections of a part of the pages, the shortest first, unknown ones last."""
    first, count = map(int, part.split("/"))
    seconds = {}
    for page in names()[first - 1 :: count]:
        for section, _ in stale(page):
            taken = stamps(page).get(section, {}).get("seconds", math.nan)
            seconds[page, section] = math.inf if math.isnan(taken) else taken
    return sorted(seconds, key=lambda where: seconds[where])


def chosen(page: str, sections: list[str]) -> list[tuple[str, str]]:
    """Return sections of a page, all by default."""
    if page not in names():
        sys.exit(f"no page {page}; there are {', '.join(names())}")
    known = [section["name"] for section in spec(page)["sections"]]
    if unknown := set(sections) - set(known):
        sys.exit(f"no section {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return [(page, name) for name in sections or known]


def main() -> None:
    """Measure what the command line says; the exit status is 1 if a section failed."""
    parser = argparse.ArgumentParser(description="Measure sections of figure pages.")
    parser.add_argument("page", nargs="?")
    parser.add_argument("sections", nargs="*", help="all by default")
    parser.add_argument("--stale", action="store_true", help="what other code measured")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no section later")
    parser.add_argument("--part", metavar="K/N", default="1/1", help="every Nth page, from the Kth")
    said = parser.parse_args()
    if bool(said.page) == said.stale:
        parser.error("a page, or --stale")
    left = old(said.part) if said.stale else chosen(said.page, said.sections)
    failed, began = 0, time.monotonic()
    for done, (page, name) in enumerate(left):
        if time.monotonic() - began > said.seconds:
            print(f"the time is over; {len(left) - done} sections are left", flush=True)
            break
        (section,) = (part for part in spec(page)["sections"] if part["name"] == name)
        child = multiprocessing.get_context("spawn").Process(target=measure, args=(page, section))
        child.start()
        child.join()
        failed += bool(child.exitcode)
        print(f"{page}, {name}: {'FAILED' if child.exitcode else 'measured'}", flush=True)
    sys.exit(int(failed > 0))


if __name__ == "__main__":
    main()
