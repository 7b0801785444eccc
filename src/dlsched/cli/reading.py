"""What ``dlsched simulate`` reads: a trace as it is published, or a scheduler's record."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from dlsched.cli.exits import put_note
from dlsched.cli.options import Jobs, Machines, Reading, Record, flag, given
from dlsched.cli.progress import say
from dlsched.cli.settings import settings
from dlsched.errors import OptionError
from dlsched.records.history.fields import FORMATS
from dlsched.records.history.reader import detect, read_history
from dlsched.records.traces.reader import SHIPPED, read_trace
from dlsched.records.traces.record import counted
from dlsched.run import Stage
from dlsched.simulation import Cluster, Simulation, Workload
from dlsched.simulation import simulate as run_simulation
from dlsched.simulation.workload.profiles import profile_options

SERVERS = 8
GPUS = 8
"""The cluster of a trace unless it is stated."""
OF_RECORDS = ("sacct", "swf", "kueue")
"""Formats that are found out to be a scheduler's record."""

RunPolicy = Callable[..., Simulation]
"""Simulates a policy on what was read, by the options of `dlsched.simulation.simulate`."""


def simulated(
    name: str, layout: str, machines: Machines, jobs: Jobs, reading: Reading, record: Record
) -> RunPolicy:
    """Read a trace or a record, whichever it is; refuse options that belong to the other."""
    say(Stage.LOADING, name)
    if jobs.profile_option and jobs.profiles is None:
        raise OptionError("--profile-option belongs to --profiles; name the set of profiles")
    of_record = given(record)
    of_record.pop("timezone", None)
    if _is_record(name, layout, bool(reading.column), bool(of_record)):
        of_trace = given(machines) | given(jobs) | given(reading)
        of_trace.pop("column", None)
        for option in of_trace:
            raise OptionError(
                f"{flag(option)} does not belong to a scheduler's record, whose jobs and nodes are "
                "taken as they are; leave it out"
            )
        return _record(name, layout, reading, record)
    for option in of_record:
        raise OptionError(
            f"{flag(option)} belongs to a scheduler's record; name its format: --format sacct, or "
            "leave it out"
        )
    return _trace(name, layout, machines, jobs, reading)


def _is_record(name: str, layout: str, columns_named: bool, record_asked: bool) -> bool:
    if layout in FORMATS:
        return True
    if layout != "auto" or columns_named or name in SHIPPED:
        return False
    return record_asked or (Path(name).is_file() and detect(Path(name), name) in OF_RECORDS)


def _trace(name: str, layout: str, machines: Machines, jobs: Jobs, reading: Reading) -> RunPolicy:
    options: dict[str, Any] = {}
    if jobs.profiles is not None:
        known = profile_options(jobs.profiles)
        options = settings(jobs.profile_option, known, f"--profiles {jobs.profiles}")
    trace: Any = name
    mapping = columns_of(reading.column) if reading.column else layout
    if mapping != "auto" or reading.options():
        with notes_on_stderr("dlsched.records.traces"):
            trace = read_trace(name, mapping, **reading.options())
    workload = Workload.from_trace(
        trace, jobs.profiles, together=jobs.together, limit=jobs.limit, **options
    )
    servers, gpus = machines.servers or SERVERS, machines.gpus or GPUS
    cluster = Cluster.uniform(servers, gpus, cpus=machines.cpus, memory=machines.memory)
    fitting, larger = workload.up_to(cluster.gpus)
    if larger:
        put_note(
            f"{counted(larger, 'job')} larger than the cluster's {cluster.gpus} GPUs: left out"
        )
    return partial(run_simulation, fitting, cluster)


def _record(name: str, layout: str, reading: Reading, record: Record) -> RunPolicy:
    options = record.reader_options()
    if reading.column:
        options["columns"] = columns_of(reading.column)
    with notes_on_stderr("dlsched.records.history"):
        history = read_history(name, layout, **options)
    period = history.within(record.since, record.until, partition=record.partition)
    nodes = f"{history.capacity.total:,} on the nodes, by {history.capacity.source}"
    for sentence in (nodes, *period.notes):
        put_note(sentence)
    knows: Any = record.knows or "limit"  # another word is refused by name
    return partial(period.simulate, knows=knows)


@contextmanager
def notes_on_stderr(name: str) -> Iterator[None]:
    """Show what a reader logs, a line each."""

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            put_note(record.getMessage())

    logger = logging.getLogger(name)
    handler = Notes()
    before = logger.propagate
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


def columns_of(pairs: Sequence[str]) -> dict[str, Any]:
    """Return which column holds which field, of ``FIELD=NAME`` or ``FIELD=NAME:UNIT``.

    Raises
    ------
    OptionError
        If one names no column.
    """
    mapping: dict[str, Any] = {}
    for pair in pairs:
        name_of_field, equals, name = pair.partition("=")
        if not equals or not name:
            raise OptionError(
                f"--column {pair!r} names no column; write FIELD=NAME or FIELD=NAME:UNIT"
            )
        stem, colon, unit = name.rpartition(":")
        entry: Any = (stem, unit) if colon else name
        if name_of_field == "stages":
            mapping.setdefault(name_of_field, []).append(entry)
        else:
            mapping[name_of_field] = entry
    return mapping
