"""Sections of figures: measured one by one, printed, and written as one markdown file."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from code_version import code_version, commit_of_code
from machine import machine

import dlsched
from dlsched.results.result import Result
from dlsched.schema import Instance

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(__file__).resolve().parent / "figures"
Section = Callable[[], Iterator[str]]


def arguments() -> list[str]:
    """Return the sections named on the command line."""
    return sys.argv[1:]


def cell(gap: float | None) -> str:
    """Return a gap for a table: a percentage of three digits; 0 is exactly that."""
    if gap is None:
        return "-"
    return "0" if gap == 0 else f"{100 * float(gap):.3g} %"


def rule_gap(instance: Instance, rule: str, best: Result, level: int = 0) -> str:
    """Return the cell of a rule's gap to the best bound known; "stuck" if it has no solution."""
    answer = dlsched.solve(instance, rule)
    return "stuck" if answer.solution is None else cell(answer.gap_to(best.bound)[level])


def write(name: str, sections: Mapping[str, Section], chosen: list[str]) -> None:
    """Measure the sections chosen, all by default, and put them into figures/<name>.md.

    Sections that are not measured now stay as they are in the file, each with its machine and
    the commit of its code, which `stale.py` compares with today's.
    """
    unknown = set(chosen) - set(sections)
    if unknown:
        sys.exit(f"no section {', '.join(sorted(unknown))}; there are {', '.join(sections)}")
    file = FOLDER / f"{name}.md"
    for section, measure in sections.items():
        if chosen and section not in chosen:
            continue
        lines = [f"<!-- {section} -->"]
        start, commit = time.perf_counter(), commit_of_code()
        for line in measure():
            print(line, flush=True)
            lines.append(line)
        seconds = time.perf_counter() - start
        lines.append(f"\nMeasured in {seconds:,.0f} s with {code_version(commit)}")
        lines.append(f"\nMachine: {machine()}")
        # Read now: another process may have measured another section meanwhile.
        kept = _read(file) | {section: "\n".join(lines)}
        _write(file, name, [kept[s] for s in sections if s in kept])


def _read(file: Path) -> dict[str, str]:
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    parts = re.split(r"^(?=<!-- \S+ -->$)", text, flags=re.MULTILINE)[1:]
    return {part.split()[1]: part.strip() for part in parts}


def _write(file: Path, name: str, parts: list[str]) -> None:
    title = name.replace("_", " ").capitalize()
    head = (
        f"# {title}: figures\n\nMade by `python benchmarks/{name}.py`; "
        f"times vary with the machine and its load.\n"
    )
    FOLDER.mkdir(parents=True, exist_ok=True)
    file.write_text("\n\n".join([head, *parts]) + "\n", encoding="utf-8")
