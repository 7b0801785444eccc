"""Cells of the stored rows: what a row of claims may quote."""

import sys
from functools import cache
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
from tables import FIGURES, Cell, Row, Table, measured, stamps, tables

__all__ = ["FIGURES", "cell", "heading", "measured", "number", "sections"]


def cell(page: str, section: str, row: str, column: str, table: str = "") -> Cell:
    """Return a cell, or one with the numbers of a column or a row.

    Parameters
    ----------
    page, section
        A page of figures, and the key of its section.
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
    where = f"{page}, section {section}, row {row!r}, column {column!r}"
    lines = [line for shown in _named(page, section, table) for line in shown.rows]
    found = [chosen for line in lines for chosen in _chosen(line, row, column)]
    if "*" in (row, column):
        numbers = [number(c) for c in found if c.numbers]
        if not numbers:
            raise LookupError(f"no number at {where}")
        return Cell("", numbers)
    if len(found) != 1:
        raise LookupError(f"{len(found)} cells at {where}")
    return found[0]


def heading(page: str, section: str, table: str = "") -> str:
    """Return the heading above the first table of a section that has the word `table` above it."""
    return _named(page, section, table)[0].heading


def number(found: Cell) -> float:
    """Return the number of a cell, without its unit.

    Raises
    ------
    LookupError
        If the cell has no number, or several.
    """
    if len(found.numbers) != 1:
        raise LookupError(f"{len(found.numbers)} numbers in the cell {found.text!r}")
    return found.numbers[0]


@cache
def sections(page: str) -> dict[str, float]:
    """Return the seconds that each section of a page took, not a number if that is not known."""
    return {section: stamp["seconds"] for section, stamp in stamps(page).items()}


def _named(page: str, section: str, table: str) -> list[Table]:
    return [t for t in tables(page) if t.section == section and table in t.text]


def _chosen(line: Row, row: str, column: str) -> list[Cell]:
    names = row.split(" | ")
    if row != "*" and [c.text for c in list(line.values())[: len(names)]] != names:
        return []
    return [c for header, c in list(line.items())[1:] if column in ("*", header)]
