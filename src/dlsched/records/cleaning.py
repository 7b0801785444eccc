"""What is right and wrong about the rows of a record, whatever its format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import InstanceError
from dlsched.records.readers.rows import MOMENTS, Rows, is_known, objects
from dlsched.records.readers.values import LATEST, Flags, counted
from dlsched.schema import brief

if TYPE_CHECKING:
    import pandas as pd

ROUNDING: Final = 1.0
"""Seconds by which moments may be out of order, as they are rounded to whole ones."""
_MOST_FAULTS: Final = 0.5
"""Share of the rows with the same kind of fault from which it is one of the file."""
_MANY: Final = 5
_FEW: Final = 0.01
WAITING: Final = frozenset({"PENDING", "SUSPENDED_PENDING", "REQUEUE_HOLD", "SPECIAL_EXIT"})
RUNNING: Final = frozenset({"RUNNING", "SUSPENDED", "COMPLETING", "STOPPED", "RESIZING"})
SLURM: Final = frozenset(
    {
        *WAITING,
        *RUNNING,
        *("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL"),
        *("DEADLINE", "OUT_OF_MEMORY", "REVOKED", "REQUEUED", "SIGNALING", "CONFIGURING"),
        *("LAUNCH_FAILED", "RECONFIG_FAIL", "RESV_DEL_HOLD", "STAGE_OUT", "POWER_UP_NODE"),
    }
)
"""States of the man page of ``sacct``, section "Job State Codes"."""


def settle_starts(rows: Rows, slurm: bool) -> Iterator[str]:
    """Settle which jobs started and which ended; yield notes.

    A recorded end counts, whatever the state says; but Slurm prints the moment of the export, or
    the end of its window, as the end of what still runs.
    """
    columns = rows.columns
    start, end, elapsed = columns["start"], columns["end"], rows.get("elapsed")
    states = rows.get("state")
    nothing = (np.nan_to_num(elapsed) == 0) & ((start == end) | np.isnan(end) | np.isnan(start))
    never = np.isnan(start) | (rows.get("unassigned") & nothing)
    running = np.zeros(rows.size, np.bool_)
    if slurm:
        never |= np.array([state in WAITING for state in states], np.bool_)
        running = np.array([state in RUNNING for state in states], np.bool_) & ~never
    start[never] = np.nan
    end[never] = np.nan
    columns["nodes"][never] = objects([()] * int(never.sum()))
    columns["amounts"][never] = objects([()] * int(never.sum()))
    seen = running & ~np.isnan(end)
    elapsed[seen] = np.fmax(elapsed[seen], end[seen] - start[seen])
    end[running] = np.nan
    unended = np.isnan(end) & ~never & ~running & ~np.isnan(elapsed) & (elapsed > 0)
    end[unended] = start[unended] + elapsed[unended]
    if unended.any():
        yield f"{counted(int(unended.sum()), 'job')} without an end: Elapsed after the start"


def refuse_faults(raw: Rows, names: dict[str, str]) -> None:
    """Refuse rows whose moments cannot be true; errors have the file's names of fields."""
    columns = raw.columns
    submit, start, end = (columns[name] for name in ("submit", "start", "end"))
    missing = np.isnan(submit)
    raw.refuse(missing, names["submit"], "there is no time of submission")
    nameless = np.array([not name for name in columns["id"]], np.bool_)
    raw.refuse(nameless, names["id"], "there is no id")
    for name in MOMENTS:
        far = columns[name] > LATEST
        reasons = [
            f"{value:,.0f} s since 1970 are after the year 5000" for value in columns[name][far]
        ]
        raw.refuse(far, names[name], reasons, f"say the unit: ({names[name]!r}, 'ms')")
    early = start < submit - ROUNDING
    reasons = [f"starts {s:,.0f} s before its submission" for s in (submit - start)[early]]
    raw.refuse(early, names["start"], reasons)
    back = end < start - ROUNDING
    reasons = [f"ends {s:,.0f} s before it starts" for s in (start - end)[back]]
    raw.refuse(back, names["end"], reasons)


def settle_order(raw: Rows) -> Iterator[str]:
    """Put submission, eligibility, start and end in order; yield notes."""
    columns = raw.columns
    submit, eligible, start, end = (
        columns[name] for name in ("submit", "eligible", "start", "end")
    )
    np.fmax(start, submit, out=start, where=~np.isnan(start))
    np.fmax(end, start, out=end, where=~np.isnan(end))
    unknown = np.isnan(eligible)
    eligible[unknown] = submit[unknown]
    np.maximum(eligible, submit, out=eligible)
    late = eligible > start
    if late.any():
        eligible[late] = start[late]
        yield f"{counted(int(late.sum()), 'job')} eligible after the start: eligible at the start"


def name_by_cluster(raw: Rows, jobs: Flags) -> str:
    """Give jobs of several clusters ids, partitions and nodes of their own; return the note."""
    clusters = raw.get("cluster")
    named = jobs & is_known(clusters)
    for column in ("id", "partition"):
        texts = raw.get(column)
        own = named & is_known(texts)
        texts[own] = clusters[own] + "/" + texts[own]
    held = zip(clusters[named], raw.columns["nodes"][named], strict=True)
    nodes = [tuple(f"{name}/{node}" for node in names) for name, names in held]
    raw.columns["nodes"][named] = objects(nodes)
    there = sorted({*clusters[named]})
    return (
        f"{len(there)} clusters ({', '.join(there):.80}): ids, nodes and partitions are of their "
        "cluster, as east/n1; choose with clusters= (--cluster)"
    )


def refuse_repeated(
    raw: Rows, jobs: Flags, more: Sequence[str] = ()
) -> tuple[NDArray[np.bool_], int]:
    """Give further runs of an id an id of their own; return the rows that are there twice.

    These are alike in their moments and in `more` columns. The number of further runs is returned
    as well.
    """
    import pandas as pd

    places = np.flatnonzero(jobs)
    names = ("id", "submit", "start", "end", *more)
    frame = pd.DataFrame({name: raw.columns[name][places] for name in names})
    twice = frame.duplicated().to_numpy()
    again = np.zeros(raw.size, np.bool_)
    again[places[twice]] = True
    frame, places = frame[~twice], places[~twice]
    runs = frame.sort_values(["submit", "start"], kind="stable").groupby("id").cumcount()
    numbers = runs.sort_index().to_numpy() + 1
    ids = raw.columns["id"]
    for place, number in zip(places[numbers > 1], numbers[numbers > 1], strict=True):
        ids[place] = f"{ids[place]}#{number}"
    return again, int((numbers > 1).sum())


def rounded_note(number: int) -> str:
    """Return the note on times that have more digits than are kept."""
    return f"{counted(number, 'time')} with more than six decimals: rounded to microseconds"


def require_whole(raw: Rows, where: str, names: dict[str, str]) -> None:
    """Refuse a file whose start times were cut to the window of the export (``sacct -T``)."""
    usable = raw.usable
    start, submit = raw.columns["start"][usable], raw.columns["submit"][usable]
    started = ~np.isnan(start)
    if not started.any():
        return
    first = np.nanmin(start)
    cut = started & (start == first) & (submit < first)
    many = cut.sum() >= max(_MANY, _FEW * started.sum())
    if many and len(np.unique(submit[cut])) >= _MANY and not first % 60:
        row = raw.columns["row"][usable][cut][0]
        problem = (
            f"{counted(int(cut.sum()), 'job')} submitted at different times start in the same "
            "second, the first of the record: the times seem cut to the window (sacct -T)"
        )
        path = f"row {row}, {names['start']}"
        raise InstanceError(where, path, problem, "export without -T (--truncate)")


def require_some(raw: Rows, where: str) -> None:
    """Raise the fault of the first row if most rows have one."""
    jobs = int((raw.fault | raw.usable).sum())
    if not raw.fault.sum() > _MOST_FAULTS * jobs:
        return
    columns = raw.columns["column"]
    column, count = Counter(columns[raw.fault].tolist()).most_common(1)[0]
    place = int(np.argmax(raw.fault & np.equal(columns, column).astype(np.bool_)))
    row = raw.columns["row"][place]
    problem = f"{raw.columns['reason'][place]}; so are {count:,} of {counted(jobs, 'row')}"
    remedy = "see whether the columns are in the order that is stated, and the format is right"
    raise InstanceError(where, ", ".join(filter(None, (f"row {row}", column))), problem, remedy)


def strange_states(states: pd.Series[str]) -> Iterator[str]:
    """Yield a note on states that Slurm does not have."""
    count = Counter(state for state in states if state and state not in SLURM)
    if count:
        some = ", ".join(f"{brief(state)} ({n:,})" for state, n in count.most_common(4))
        yield f"unknown states, of which the moments alone count: {some}"


def dropped_share(raw: Rows, kept: Flags) -> float:
    """Return the share of the GPU-seconds that dropped jobs held.

    A dropped row of which it is not known counts as the mean of the others.
    """
    columns = raw.columns
    jobs = kept | raw.fault
    held = columns["gpus"] * (columns["end"] - columns["start"])
    held = np.where(held >= 0, held, np.nan)
    lost = raw.fault & ~kept
    known = held[kept & ~np.isnan(held)]
    mean = float(known.mean()) if len(known) else 1.0
    filled = np.where(np.isnan(held), np.where(lost, mean, 0.0), held)
    total = float(filled[jobs].sum())
    return float(filled[lost].sum()) / total if total else 0.0
