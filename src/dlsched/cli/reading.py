"""What ``dlsched simulate`` reads: a trace as it is published, or a scheduler's record."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from dlsched.cli.exits import put_note
from dlsched.cli.options import SHARED, Jobs, Machines, Reading, Record, flag, given
from dlsched.cli.progress import say
from dlsched.cli.settings import settings
from dlsched.errors import OptionError
from dlsched.records import FORMATS, read_trace
from dlsched.records.readers.formats import detect
from dlsched.records.readers.opening import SHIPPED
from dlsched.records.readers.values import counted
from dlsched.run import Stage
from dlsched.simulation import Cluster, Simulation, Workload
from dlsched.simulation import simulate as run_simulation
from dlsched.simulation.history import read_history
from dlsched.simulation.workload.profiles import profile_options

SERVERS = 8
GPUS = 8
"""The cluster of a trace unless it is stated."""

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
    if _is_record(name, layout, bool(reading.column), bool(of_record)):
        of_trace = given(machines) | given(jobs) | given(reading)
        for option in (name for name in of_trace if name not in SHARED):
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
        return FORMATS[layout].record
    if layout != "auto" or name in SHIPPED or (columns_named and not record_asked):
        return False
    if record_asked:
        return True
    found = detect(Path(name), name) if Path(name).is_file() else None
    return found is not None and FORMATS[found].record


def _trace(name: str, layout: str, machines: Machines, jobs: Jobs, reading: Reading) -> RunPolicy:
    options: dict[str, Any] = {}
    if jobs.profiles is not None:
        known = profile_options(jobs.profiles)
        options = settings(jobs.profile_option, known, f"--profiles {jobs.profiles}")
    trace: Any = name
    few = jobs.limit is not None and jobs.profiles is None
    if few or layout != "auto" or reading.options():
        with notes_on_stderr("dlsched.records"):
            trace = read_trace(name, layout, limit=jobs.limit, **reading.options())
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
    options = record.reader_options() | reading.reading()
    with notes_on_stderr("dlsched.records"):
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
