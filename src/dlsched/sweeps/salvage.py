"""What can be read of a damaged store."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from dlsched.display.table import Row, data_frame
from dlsched.schema.files import replace_file
from dlsched.sweeps.safe_csv import csv_bytes

FILE = "results.sqlite"
SALVAGED = "salvaged.csv"
"""The readable rows of a damaged database."""


def salvage(folder: Path) -> str:
    """Write the readable rows of a folder's damaged database to a file; say what is kept."""
    readable: dict[str, Row] = {}
    uri = f"{(folder / FILE).resolve().as_uri()}?mode=ro"
    for order in ("ASC", "DESC"):  # from both ends, up to the damage
        with (
            contextlib.suppress(sqlite3.Error, UnicodeError),
            contextlib.closing(sqlite3.connect(uri, uri=True)) as base,
        ):
            base.row_factory = sqlite3.Row
            for row in base.execute(f"SELECT * FROM runs ORDER BY rowid {order}"):
                readable.setdefault(str(row["key"]), dict(row))
    solutions = sum(1 for _ in folder.glob("solutions/*/*.sol.json.gz"))
    kept = [f"{solutions} solutions in {folder / 'solutions'}"]
    if readable:
        rows = [{n: v for n, v in row.items() if n != "record"} for row in readable.values()]
        with contextlib.suppress(OSError):
            replace_file(folder / SALVAGED, csv_bytes(data_frame(rows)))
            kept.insert(0, f"{len(readable)} rows in {folder / SALVAGED}")
    return f"kept are {' and '.join(kept)}"
