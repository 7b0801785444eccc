"""`read_history`: a scheduler's record becomes a history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dlsched.history.history import History

if TYPE_CHECKING:
    import pandas as pd


def read_history(
    source: str | Path | pd.DataFrame,
    format: str = "auto",
    *,
    timezone: str | None = None,
    resource: str = "gpu",
    nodes: str | Path | pd.DataFrame | None = None,
    columns: Sequence[str] | Mapping[str, str] | None = None,
    delimiter: str | None = None,
) -> History:
    """Read what a scheduler recorded.

    Parameters
    ----------
    source
        A file, plain or gzipped; for ``"csv"`` a data frame, too.
    format
        ``"sacct"`` (Slurm), ``"swf"`` (Standard Workload Format 2.2), ``"kueue"`` (workloads as
        JSON), ``"csv"`` (a table with named columns), or ``"auto"``, by the file's beginning.
    timezone
        The zone of times without one, as ``"Europe/Berlin"``; None for UTC, which a note says.
    resource
        What jobs are counted in: ``"gpu"``, ``"cpu"`` or ``"node"``.
    nodes
        The cluster's nodes: a CSV file or data frame with the columns ``name``, ``gpus``,
        ``gpu_type``, ``partitions``, or what ``sinfo -N -o "%N|%G|%P"`` prints; None for the peak
        of the recorded occupancy, which a note says.
    columns
        Of ``"sacct"`` without a header: the names of the fields in order. Of ``"csv"``: which
        column holds which field, as ``{"submit": "qtime"}``; by default they are called alike.
    delimiter
        Between columns; by default found out from the first line.

    Raises
    ------
    InstanceError
        If the file as a whole cannot be used, naming row, column and remedy. A single row that
        cannot be used is in `History.dropped`.
    OptionError, UnknownName
        If an option cannot be used.
    """
    raise NotImplementedError
