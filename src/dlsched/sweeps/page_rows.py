"""Many rows in a report's page: compressed, and made lines of a table only when asked for.

A browser opens a page of a few megabytes at once, but a table of 100,000 lines takes it a minute.
So the rows are blocks of text that it does not look at; a script unpacks those of the lines that
are shown, and all of them to sort or to search. The page still needs nothing beside it.
"""

from __future__ import annotations

import base64
import gzip
import itertools
import json
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any

from dlsched.sweeps.page_table import Cell, page_cells, page_table

BLOCK = 5000
"""Rows of a block."""
SHOWN = 200
"""Lines that are shown at a time."""


def rows_on_demand(names: Sequence[str], rows: Iterable[Sequence[Any | Cell]]) -> str:
    """Return the HTML of a table whose lines are made when they are asked for.

    Parameters
    ----------
    names, rows
        As for `page_table`.
    """
    blocks = []
    count = 0
    columns = page_table(names, ())["columns"]
    numeric = [column["numeric"] for column in columns]
    cells = page_cells(names, rows)
    while block := list(itertools.islice(cells, BLOCK)):
        count += len(block)
        blocks.append(_packed(block, numeric))
    script = resources.files("dlsched.sweeps").joinpath("page_rows.js").read_text("utf-8")
    about = json.dumps({"columns": columns, "rows": count, "block": BLOCK, "shown": SHOWN})
    data = "\n".join(
        f'<script type="text/plain" class="block">{block}</script>' for block in blocks
    )
    return (
        '<p class="pager"><input type="search" placeholder="search" aria-label="search"> '
        '<button type="button" class="before">before</button> '
        '<button type="button" class="after">after</button> <span class="place"></span></p>\n'
        '<div class="scroll tall"><table id="all-runs"><thead></thead><tbody></tbody></table></div>'
        f'\n{data}\n<script type="application/json" id="about-rows">{about}</script>\n'
        f"<script>\n{script}</script>\n"
    )


def _packed(rows: Sequence[Sequence[Cell]], numeric: Sequence[bool]) -> str:
    """Return rows as compressed JSON in base64: of numbers text and key, of others the text."""
    cells = [
        [cell if number else cell.text for cell, number in zip(row, numeric, strict=True)]
        for row in rows
    ]
    text = json.dumps(cells, separators=(",", ":"), default=str)
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode()
