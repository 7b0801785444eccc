"""Cells of the figure pages: what a row of claims may quote."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FIGURES = Path(__file__).resolve().parents[1] / "figures"
_SECTION = re.compile(r"^<!-- (\S+) -->$", re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d[\d,]*)(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """A table of a page: the heading and the text above it, its headers, its rows."""

    heading: str
    above: str
    headers: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Section:
    """A section of a page: its tables, and the seconds that it took."""

    tables: list[Table]
    seconds: float | None


def cell(page: str, section: str, row: str, column: str, table: str = "") -> str | list[float]:
    """Return a cell as printed, or the numbers of a column or a row.

    Parameters
    ----------
    page, section
        ``figures/<page>.md``, and the key in its ``<!-- section -->``.
    row
        The row's first cell, or its first cells joined by `` | ``; ``*`` for all rows.
    column
        The column's header; ``*`` for all columns but the first.
    table
        A word of the line above the table, where row and column are in several of the section.

    Raises
    ------
    LookupError
        If there is no such cell, or more than one.
    """
    where = f"{page}.md, section {section}, row {row!r}, column {column!r}"
    tables = _named(page, section, table)
    found = [chosen for t in tables for chosen in _chosen(t, row, column)]
    if "*" in (row, column):
        numbers = [number(text) for text in found if _NUMBER.search(text)]
        if not numbers:
            raise LookupError(f"no number at {where}")
        return numbers
    if len(found) != 1:
        raise LookupError(f"{len(found)} cells at {where}")
    return found[0]


def heading(page: str, section: str, table: str = "") -> str:
    """Return the heading above the first table of a section that has the word `table` above it."""
    return _named(page, section, table)[0].heading


def number(text: str) -> float:
    """Return the number of a cell, without its unit.

    Raises
    ------
    LookupError
        If the cell has no number, or several.
    """
    numbers = _NUMBER.findall(text)
    if len(numbers) != 1:
        raise LookupError(f"{len(numbers)} numbers in the cell {text!r}")
    return float(numbers[0].replace(",", ""))


def numbers(text: str) -> float | list[float]:
    """Return the number of a cell, or its numbers if it has several: a mean and its range."""
    found = [float(text.replace(",", "")) for text in _NUMBER.findall(text)]
    return found if len(found) > 1 else number(text)


@cache
def sections(page: str) -> dict[str, Section]:
    """Return the sections of a page by their keys."""
    text = (FIGURES / f"{page}.md").read_text(encoding="utf-8")
    _, *parts = _SECTION.split(text)
    return {key: _section(body) for key, body in zip(parts[::2], parts[1::2], strict=True)}


def _section(body: str) -> Section:
    seconds = re.search(r"^Measured in ([\d,.]+) s", body, re.MULTILINE)
    taken = float(seconds[1].replace(",", "")) if seconds else None
    return Section(_tables(body.splitlines()), taken)


def _named(page: str, section: str, table: str) -> list[Table]:
    return [t for t in sections(page)[section].tables if table in t.above]


def _tables(lines: list[str]) -> list[Table]:
    tables: list[Table] = []
    heading = above = ""
    block: list[list[str]] = []
    for line in [*lines, ""]:
        if line.startswith("|"):
            block.append([text.strip() for text in line.strip().strip("|").split("|")])
            continue
        if len(block) > 1:
            tables.append(Table(heading, above, block[0], block[2:]))
        if block:
            above = ""
        block = []
        if line.startswith("#"):
            heading = line.lstrip("# ")
        above = f"{above} {line}" if line else above
    return tables


def _chosen(table: Table, row: str, column: str) -> list[str]:
    names = row.split(" | ")
    rows = [r for r in table.rows if row == "*" or r[: len(names)] == names]
    places = [i for i, header in enumerate(table.headers) if i and column in ("*", header)]
    return [r[place] for r in rows for place in places if place < len(r)]
