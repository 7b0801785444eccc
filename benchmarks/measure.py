"""Measure sections of figure pages, and store their rows.

    python benchmarks/measure.py PAGE [section ...]

A section's rows come from the suite that benchmarks/tables/<page>.toml names, by `dlsched bench`,
or from a function: that of the section's name in benchmarks/<page>.py, or the `source` that is
named, as "module:function", with its `arguments`. A function yields rows as dicts of numbers and
texts; "table" is the number of a section's table, if its tables are not made of runs.
Each section is measured in a process of its own, so that its stamp has the modules that it used.
"""

import json
import multiprocessing
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

import pandas as pd
from code_version import ROOT, commit_of_code, digest, imported, modules_of
from tables import HERE, ROWS, cell, names, spec, stored, write

_LEFT_OUT = """
    key instance instance_sha256 variant_sha256 source resolved_method options repetition reason
    objective bound versions machine engine node started solution_sha256 termination new_best
    refuted gap_level gap_to_best_level record family
"""
"""Columns of a sweep's rows that are left out: what the stamp has, and digests."""


def machine() -> str:
    """Return the processor, its cores, and the versions that made the figures."""
    from dlsched.sweeps import task as recorded  # now, as what rows are made with is in their stamp

    python, *packages = recorded.versions().items()
    said = ", ".join(f"{name} {version}" for name, version in packages)
    return f"{recorded.machine()}; Python {python[1]}; {said}."


def rows_of(page: str, section: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the rows of a section, and the modules that made them."""
    if "suite" in section:
        rows = [*swept(section["suite"])]
        named = {row["problem"] for row in rows}
        keep = ("problem", *section.get("keep", []))
        kept = [{k: v for k, v in row.items() if k in keep or _kept(k)} for row in rows]
        return kept, modules_of(named)
    module, _, function = section.get("source", page).partition(":")
    owner = import_module(module)
    table = getattr(owner, "SECTIONS", {})
    call = table.get(section["name"]) or getattr(owner, function or section["name"])
    made = [*call(**section.get("arguments", {}))]
    return parsed(made) if made and isinstance(made[0], str) else made, imported()


def parsed(said: list[str]) -> list[dict[str, Any]]:
    """Return the rows of tables in Markdown, of functions that still write it."""
    rows: list[dict[str, Any]] = []
    heads, table = list[str](), -1
    lines = [line for line in "\n".join(said).splitlines() if line.startswith("|")]
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        cells = [text.strip() for text in line.strip().strip("|").split("|")]
        if after and set(after) <= set("|-: "):
            heads, table = cells, table + 1
        elif not set(line) <= set("|-: "):
            rows.append({"table": str(table)} | dict(zip(heads, cells, strict=False)))
    return rows


def swept(suite: str) -> Iterator[dict[str, Any]]:
    """Run what is left of a suite, and yield its rows, with what the names of instances say."""
    from dlsched.results.performance_profiles import label_of
    from dlsched.sweeps import Store
    from dlsched.sweeps.simulations import simulation_rows
    from dlsched.sweeps.stored_runs import evaluate_rows

    out = ROOT / "results" / suite
    out.parent.mkdir(exist_ok=True)
    command = ["bench", HERE / "suites" / f"{suite}.toml", "-o", out, "--resume"]
    subprocess.run([sys.executable, "-m", "dlsched", *command], check=True)
    with Store(out) as store:
        runs = evaluate_rows(store.rows()) + simulation_rows(store.simulations())
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


def _kept(column: str) -> bool:
    """Whether a column of a sweep's rows is stored."""
    return column not in _LEFT_OUT.split() and not column.endswith(("_bound", "_kind"))


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
    rows, modules = rows_of(page, section)
    seconds = time.perf_counter() - began
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
    whole.to_parquet(ROWS / f"{page}.parquet", index=False, compression="zstd")


def main(page: str, *chosen: str) -> None:
    """Measure the sections chosen, all by default."""
    if page not in names():
        sys.exit(f"no page {page}; there are {', '.join(names())}")
    sections = {section["name"]: section for section in spec(page)["sections"]}
    if unknown := set(chosen) - set(sections):
        sys.exit(f"no section {', '.join(sorted(unknown))}; there are {', '.join(sections)}")
    for name in chosen or sections:
        child = multiprocessing.get_context("spawn").Process(
            target=measure, args=(page, sections[name])
        )
        child.start()
        child.join()
        if child.exitcode:
            sys.exit(f"{page}, {name}: failed")
        print(f"{page}, {name}: measured", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
