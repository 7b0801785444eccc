"""Writes the tables of docs/which-method.md, from the stored rows of exact_against_heuristics.

    python docs/which_method.py

A test compares the page with what this writes today; another one reads which methods have a place.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from charts import between, tables

from dlsched.registry import Kind, problem, problem_names

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "which-method.md"
LIMITS = (1, 10)
"""Seconds of the runs that are shown; the second only where the first ended without a proof."""
HEAD = (
    "| instance | limit | exact method | ended | seconds | best heuristic | its gap | seconds "
    "| best bound | its gap | seconds |"
)


class Entry(NamedTuple):
    """A cell of the tables of all methods.

    Attributes
    ----------
    level
        The first level at which a solution differs from the best one, or the best one from a
        bound; a half more than the last level with a bound if there is no difference up to it.
    gap
        The difference at that level.
    text
        The gap as it is written.
    """

    level: float
    gap: float
    proved: bool
    seconds: float
    text: str

    @property
    def rank(self) -> tuple[float, float, bool, float]:
        """A key, least for the best one: of equal ones a proved one, then the fastest."""
        return -self.level, self.gap, not self.proved, self.seconds


def best(entries: Mapping[str, Entry]) -> str | None:
    """Return the name of the best entry."""
    return min(entries, key=lambda name: entries[name].rank, default=None)


def read(row: tables.Row, levels: Sequence[str], bounds: bool) -> Entry | None:
    """Read a row; ``None`` where there is no solution, or a bound says nothing."""
    if "gap" not in row:
        return None
    text, gaps = row["gap"]
    gap = gaps[0] / 100 if gaps else 0.0
    at = levels.index(row["level"].text) + (0 if gap else 0.5) if "level" in row else math.inf
    if bounds and gap >= 1:  # it says nothing of this level
        at, gap = at - 0.5, 0.0
    entry = Entry(at, gap, text == "proved", row["seconds"].numbers[0], text)
    return entry if at >= 0 else None


class Case(NamedTuple):
    """What was measured of an instance under a limit: the row of `exact`, and all methods."""

    instance: str
    exact: dict[str, str]
    solutions: dict[str, Entry]
    bounds: dict[str, Entry]


def cases(name: str, limit: int) -> Iterator[Case]:
    """Yield what was measured of the methods that there are; nothing where not all were."""
    found = tables.measured("exact_against_heuristics").get(f"{name}-{limit}", {})
    if "solutions" not in found:
        return
    owner = problem(name)
    levels = [level.name for level in owner.levels]
    named = dict.fromkeys(row["instance"].text for row in found["solutions"])
    for row, instance in zip(found["exact"], named, strict=True):
        entries: list[dict[str, Entry]] = []
        for table in ("solutions", "bounds"):
            lines = [line for line in found.get(table, []) if line["instance"].text == instance]
            read_ = {x["method"].text: read(x, levels, table == "bounds") for x in lines}
            entries.append({n: e for n, e in read_.items() if e and n in owner.methods})
        exact = {column: shown.text for column, shown in row.items()}
        yield Case(instance, exact, *entries)


def rows(name: str) -> Iterator[str]:
    """Yield a problem's rows: the exact method, the best heuristic and bound of each instance."""
    by_limit = [list(cases(name, limit)) for limit in LIMITS]
    for same in zip(*by_limit, strict=True):
        for limit, case in zip(LIMITS, same, strict=True):
            yield f"| {case.instance} | {limit} s | {_exact(case)} | {_others(name, case)} |"
            if case.exact["status"] == "optimal":
                break


def _exact(case: Case) -> str:
    """Return the cells of the exact method."""
    exact, status, gap = (case.exact[column] for column in ("exact", "status", "gap"))
    ended = "proved" if status == "optimal" else "no bound" if gap == "-" else f"gap {gap}"
    entry = case.solutions.get(exact)
    if entry and entry.gap:
        ended += f", {entry.text} from the best"
    return f"`{exact}` | {ended} | {entry.seconds if entry else '-'}"


def _others(name: str, case: Case) -> str:
    """Return the cells of the best heuristic and the best bound."""
    methods = problem(name).methods
    solutions = {n: e for n, e in case.solutions.items() if methods[n].kind is Kind.HEURISTIC}
    chosen = [(best(entries), entries) for entries in (solutions, case.bounds)]
    cells = [
        f"`{n}` | {entries[n].text} | {entries[n].seconds}" if n else "- | - | -"
        for n, entries in chosen
    ]
    return " | ".join(cells)


def page_tables() -> str:
    """Return the tables of all problems, each under its advice."""
    lines: list[str] = []
    for name in problem_names():
        if measured := list(rows(name)):
            figures = f", [figures](../benchmarks/figures/{name}.md)" * (name in tables.names())
            links = f"[Methods](problems/{name}.md#methods){figures}."
            lines += [f"### {name.capitalize()}", "", links, "", HEAD, "|---" * 11 + "|"]
            lines += [*measured, ""]
    return "\n".join(lines)


def page(text: str) -> str:
    """Return the page with today's tables between its marks."""
    return between(text, "which_method.py", f"\n{page_tables()}")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
