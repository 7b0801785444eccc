"""What ``dlsched simulate`` reads: a trace as it is published, or a scheduler's record."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dlsched.cli.exits import put_note
from dlsched.cli.trace_flags import flag_of
from dlsched.errors import OptionError
from dlsched.records import Period
from dlsched.records.history.fields import FORMATS
from dlsched.records.history.reader import detect, read_history
from dlsched.records.traces.reader import SHIPPED, read_trace
from dlsched.records.traces.record import counted
from dlsched.simulation import Cluster, Simulation, Workload
from dlsched.simulation import simulate as run_simulation

SERVERS = 8
GPUS = 8
"""The cluster of a trace unless it is stated."""
OF_RECORDS = ("sacct", "swf", "kueue")
"""Formats that are found out to be a scheduler's record."""


@dataclass(frozen=True)
class Source:
    """The file and the flags that say how it is read.

    Attributes
    ----------
    layout
        The format, or ``"auto"``.
    columns
        ``--column``: which column holds which field.
    reading
        Options of `dlsched.records.read_trace`, by name, those that were given.
    record
        Options of `dlsched.read_history` and of a window, by name, those that were given.
    machines
        The cluster of a trace, by name, what was given.
    profiles
        Name and options of a set of profiles.
    workload
        Options of `Workload.from_trace`, by name, those that were given.
    timezone
        The zone of a record's times without one; a trace has none.
    """

    name: str
    layout: str
    columns: Sequence[str] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    record: Mapping[str, Any] = field(default_factory=dict)
    machines: Mapping[str, Any] = field(default_factory=dict)
    profiles: tuple[str | None, Mapping[str, Any]] = (None, {})
    workload: Mapping[str, Any] = field(default_factory=dict)
    timezone: str | None = None

    def load(self) -> Callable[..., Simulation]:
        """Read the file; return what simulates a policy on it, by the options of `simulate`."""
        if self._is_record():
            return self._load_record()
        for name in self.record:
            raise OptionError(
                f"--{name} belongs to a scheduler's record; name its format: --format sacct, or "
                "leave it out"
            )
        mapping = columns_of(self.columns) if self.columns else self.layout
        profiles, options = self.profiles
        trace: Any = self.name
        if mapping != "auto" or self.reading:
            with notes_on_stderr("dlsched.records.traces"):
                trace = read_trace(self.name, mapping, **self.reading)
        workload = Workload.from_trace(trace, profiles, **self.workload, **options)
        cluster = Cluster.uniform(
            self.machines.get("servers", SERVERS),
            self.machines.get("gpus", GPUS),
            cpus=self.machines.get("cpus"),
            memory=self.machines.get("memory"),
        )
        fitting, larger = workload.up_to(cluster.gpus)
        if larger:
            jobs = counted(larger, "job")
            put_note(f"{jobs} larger than the cluster's {cluster.gpus} GPUs: left out")

        def run(policy: str, **chosen: Any) -> Simulation:
            return run_simulation(fitting, cluster, policy, **chosen)

        return run

    def _is_record(self) -> bool:
        if self.layout in FORMATS:
            return True
        if self.layout != "auto" or self.columns or self.name in SHIPPED:
            return False
        if self.record:
            return True
        return Path(self.name).is_file() and detect(Path(self.name), self.name) in OF_RECORDS

    def _load_record(self) -> Callable[..., Simulation]:
        given = [*self.machines, *self.reading, *self.workload]
        given += ["profiles"] if self.profiles[0] is not None else []
        for name in given:
            flag = flag_of(name)
            raise OptionError(
                f"--{flag} does not belong to a scheduler's record, whose jobs and nodes are taken "
                "as they are; leave it out"
            )
        options = dict(self.record)
        knows = options.pop("knows", "limit")
        window = {name: options.pop(name, None) for name in ("since", "until", "partition")}
        named = options.pop("columns", None)
        columns: Any = named.split(",") if named else None
        if self.columns:
            columns = columns_of(self.columns)
        with notes_on_stderr("dlsched.records.history"):
            history = read_history(
                self.name, self.layout, columns=columns, timezone=self.timezone, **options
            )
        period: Period = history.within(
            window["since"], window["until"], partition=window["partition"]
        )
        nodes = f"{history.capacity.total:,} on the nodes, by {history.capacity.source}"
        for sentence in (nodes, *period.notes):
            put_note(sentence)

        def run(policy: str, **chosen: Any) -> Simulation:
            return period.simulate(policy, knows=knows, **chosen)

        return run


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
