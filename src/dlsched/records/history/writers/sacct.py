"""A simulation as the text that Slurm's ``sacct -X -P -D`` prints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dlsched.errors import OptionError
from dlsched.records.history.writers.runs import BEGIN, JobRun, moment, notes_of, runs_of
from dlsched.schema.files import write_bytes
from dlsched.simulation.log import Ending
from dlsched.simulation.run import Simulation
from dlsched.simulation.workload.clock import TICKS, ticks
from dlsched.simulation.workload.job import Job

COLUMNS = (
    "JobID",
    "JobIDRaw",
    "Cluster",
    "User",
    "Account",
    "Partition",
    "State",
    "Submit",
    "Eligible",
    "Start",
    "End",
    "Elapsed",
    "Timelimit",
    "NNodes",
    "NodeList",
    "ReqTRES",
    "AllocTRES",
    "JobName",
)
"""The columns, by ``sacct``'s names; the job's name is last, as Slurm does not escape the ``|``."""
_TAIL = re.compile(r"(.*?)(\d{1,15})", re.ASCII)
STATES = {
    Ending.COMPLETED: "COMPLETED",
    Ending.PREEMPTED: "PREEMPTED",
    Ending.CHANGED: "RESIZING",
    Ending.STOPPED: "RUNNING",
}
"""The state of a run by its ending."""


def sacct_text(
    run: Simulation,
    *,
    begin: str = BEGIN,
    timezone: str = "UTC",
    partition: str = "gpu",
    accounts: Mapping[str, str] | None = None,
) -> str:
    """Return a simulation as ``sacct -X -P -D`` would print it, one row per run of a job.

    Times are local, without a zone and in whole seconds, as those of ``sacct`` are. A job that was
    preempted has a row for each of its runs, each submitted when the one before ended. A job's
    time limit is what the policy took for its running time; it has the number of its place in the
    workload unless its id is a number, and its id is its name.

    Parameters
    ----------
    begin
        Time 0 of the simulation; in UTC, unless it states an offset.
    timezone
        IANA name of the zone that times are written in: ``"Europe/Berlin"``.
    partition
        Name of the partition of the jobs that state none.
    accounts
        Account of each user; users are the jobs' tenants. Others have that of their jobs, or
        ``default``.

    Raises
    ------
    OptionError
        If the time or the zone cannot be used.
    """
    zero = moment(begin)
    zone = zone_of(timezone)
    accounts = accounts or {}
    jobs = run.workload.jobs
    by_number = all(re.fullmatch(r"[1-9]\d*", job.id) for job in jobs)
    lines = ["|".join(COLUMNS)]
    for position, (job, runs) in enumerate(zip(jobs, runs_of(run.log), strict=True)):
        number = job.id if by_number else str(position + 1)
        user = _cell(job.tenant or "user")
        account = _cell(accounts.get(user) or job.account or "default")
        queue = _cell(job.partition or partition)
        fixed = [number, number, "dlsched", user, account, queue]
        # A job that never started is one row without a start.
        rows: Sequence[JobRun | None] = runs or [None]
        for stretch in rows:
            cells = [*fixed, *_times(job, stretch, zero, zone), _tres(job, stretch), job.id]
            lines.append("|".join(cells))
    return "\n".join(lines) + "\n"


def write_sacct(
    run: Simulation,
    path: str | Path,
    *,
    begin: str = BEGIN,
    timezone: str = "UTC",
    partition: str = "gpu",
    accounts: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """Write what `sacct_text` returns; return what such a record cannot say of this simulation."""
    text = sacct_text(run, begin=begin, timezone=timezone, partition=partition, accounts=accounts)
    write_bytes(Path(path), text.encode())
    return notes_of(run.log)


def _times(job: Job, run: JobRun | None, zero: int, zone: tzinfo) -> list[str]:
    """Return the cells from the state to the list of nodes."""
    queued = _local(zero + (int(job.submit) if run is None else run.queued), zone)
    limit = _duration(-(-ticks(job.work if job.estimate is None else job.estimate) // TICKS))
    if run is None:
        never = ["Unknown", "Unknown", "00:00:00"]
        return ["PENDING", queued, queued, *never, limit, "1", "None assigned"]
    end = "Unknown" if run.ending == Ending.STOPPED else _local(zero + run.end, zone)
    nodes = [name for name, _ in run.shares]
    return [
        STATES[run.ending],
        queued,
        queued,
        _local(zero + run.start, zone),
        end,
        _duration(run.end - run.start),
        limit,
        str(len(nodes)),
        fold_hosts(sorted(nodes, key=_by_number)),
    ]


def _tres(job: Job, run: JobRun | None) -> str:
    """Return what was asked for and what was given, as two cells."""
    kind = "" if job.gpu_type is None else f"gres/gpu:{_cell(job.gpu_type)}={{0}},"
    asked = "billing={0},cpu={0}," + kind + "gres/gpu={0},node={1}"
    wanted = asked.format(job.gpus, 1 if run is None else len(run.shares))
    given = "" if run is None else asked.format(run.gpus, len(run.shares))
    return f"{wanted}|{given}"


def zone_of(name: str) -> tzinfo:
    """Return a time zone by its IANA name.

    Raises
    ------
    OptionError
        If it is unknown on this machine.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise OptionError(
            f"timezone={name!r} is unknown here; write an IANA name, as Europe/Berlin"
        ) from None


def _by_number(name: str) -> tuple[str, int, str]:
    """Return a key that sorts a2 before a10."""
    prefix = name.rstrip("0123456789")
    digits = name[len(prefix) :]
    return prefix, int(digits or 0), name


def _local(seconds: int, zone: tzinfo) -> str:
    """Return a time as Slurm writes it: local, and without the zone."""
    return datetime.fromtimestamp(seconds, zone).strftime("%Y-%m-%dT%H:%M:%S")


def _duration(seconds: int) -> str:
    """Return seconds as ``[D-]HH:MM:SS``."""
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    clock = f"{hour:02d}:{minute:02d}:{second:02d}"
    return f"{days}-{clock}" if days else clock


def _cell(text: str) -> str:
    """Return a text that does not end its cell or its row."""
    return re.sub(r"[|\s]", "_", text)


def fold_hosts(names: Iterable[str]) -> str:
    """Return the list of hosts that stands for these names, in this order.

    Only neighbours that count up by one are folded, so that `expand_hosts` gives the same names.
    """
    groups: list[tuple[str, list[str]]] = []
    for name in names:
        match = _TAIL.fullmatch(name)
        prefix, digits = match.groups() if match else (name, "")
        if digits and groups and groups[-1][0] == prefix and groups[-1][1]:
            groups[-1][1].append(digits)
        else:
            groups.append((prefix, [digits] if digits else []))
    return ",".join(_fold(prefix, digits) for prefix, digits in groups)


def _fold(prefix: str, digits: list[str]) -> str:
    if not digits:
        return prefix
    if len(digits) == 1:
        return prefix + digits[0]
    ranges: list[list[str]] = []
    for number in digits:
        follows = ranges and str(int(ranges[-1][-1]) + 1).zfill(len(ranges[-1][0])) == number
        if follows:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    spelled = [r[0] if len(r) == 1 else f"{r[0]}-{r[-1]}" for r in ranges]
    return f"{prefix}[{','.join(spelled)}]"
