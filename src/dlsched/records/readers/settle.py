"""Which jobs started and which ended, by what their record says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from dlsched.records.readers.rows import Rows, tuples
from dlsched.records.readers.values import counted

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
    columns["nodes"][never] = tuples([()] * int(never.sum()))
    columns["amounts"][never] = tuples([()] * int(never.sum()))
    seen = running & ~np.isnan(end)
    elapsed[seen] = np.fmax(elapsed[seen], end[seen] - start[seen])
    end[running] = np.nan
    unended = np.isnan(end) & ~never & ~running & ~np.isnan(elapsed) & (elapsed > 0)
    end[unended] = start[unended] + elapsed[unended]
    if unended.any():
        yield f"{counted(int(unended.sum()), 'job')} without an end: Elapsed after the start"
