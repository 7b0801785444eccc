"""Traces of Gavel (OSDI'20) and Shockwave (NSDI'23): tab-separated, without a header.

The repositories' readers say the columns (stanford-futuredata/gavel, scheduler/utils.py;
uw-mad-dash/shockwave, scheduler/utils.py). Gavel's have gained some over time, so that their number
says which they are. ``SLO`` is -1 where there is none. Gavel records a job's steps and no duration:
`dlsched.records.read_trace` needs the seconds of a step (``seconds=``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from dlsched.errors import InstanceError
from dlsched.records.readers.columns import Column
from dlsched.records.readers.files import open_text
from dlsched.records.readers.filler import Filler
from dlsched.records.readers.format import Source, TraceFormat, first_line
from dlsched.records.readers.rows import Rows
from dlsched.records.readers.table import Table

_LATER: Final = "needs_data_dir total_steps scale_factor"
NAMES: Final = {
    6: "job_type command num_steps_arg total_steps arrival_time scale_factor",
    7: "job_type command num_steps_arg needs_data_dir total_steps arrival_time scale_factor",
    9: f"job_type command num_steps_arg {_LATER} priority_weight SLO arrival_time",
    10: f"job_type command directory num_steps_arg {_LATER} priority_weight SLO arrival_time",
    12: f"job_type command directory num_steps_arg {_LATER} mode priority_weight SLO duration "
    "arrival_time",
}
"""The columns by their number; 12 are Shockwave's."""
READ: Final = (
    Column("gpus", "scale_factor"),
    Column("submit", "arrival_time", "s"),
    Column("model", "job_type"),
    Column("iterations", "total_steps"),
)
MORE: Final = (Column("priority", "priority_weight"), Column("duration", "duration", "s"))


def read(source: Source) -> Iterator[Rows]:
    """Yield a row per job; its id is its place in the file."""
    with open_text(source.path, source.where) as text:
        count = first_line(text.readline()).count("\t") + 1
    if count not in NAMES:
        known = ", ".join(map(str, NAMES))
        problem = f"has {count} columns between tabs"
        raise InstanceError(source.where, "row 1", problem, f"there are traces with {known}")
    names = NAMES[count].split()
    columns = [*READ, *(column for column in MORE if column.name in names)]
    with open_text(source.path, source.where) as text:
        table = Table(text, source.where, names=names, delimiter="\t")
        filler = Filler(source, columns, ("gpus",))
        for part in table.parts([column.name for column in columns], source.first):
            rows = filler.rows(part)
            rows.columns["id"] = np.array([f"j{row}" for row in part.rows.tolist()], object)
            yield rows


def _format(title: str, counts: tuple[int, ...]) -> TraceFormat:
    def recognises(head: str) -> bool:
        cells = first_line(head).split("\t")
        return len(cells) in counts and cells[-1].strip().replace(".", "", 1).isdecimal()

    return TraceFormat(title, read, recognises, files=(), strict=True)


FORMATS: Final = {
    "gavel": _format("Gavel (OSDI'20), .trace", (6, 7, 9, 10)),
    "shockwave": _format("Shockwave (NSDI'23), .trace", (12,)),
}
