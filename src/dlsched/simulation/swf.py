"""A simulation in the Standard Workload Format, version 2.2, of the Parallel Workloads Archive.

Chapin et al., "Benchmarks and standards for the evaluation of parallel job schedulers", JSSPP 1999.
Processors are GPUs; a job has a row per run, in whole seconds. A job that was preempted has a line
that summarises it, and then one for each of its runs with status 2, the last with status 3; readers
that study workloads ignore these.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from dlsched.errors import OptionError
from dlsched.schema.files import write_bytes
from dlsched.simulation.log import Ending, Log, Segment
from dlsched.simulation.run import Simulation
from dlsched.simulation.workload.clock import TICKS, ticks
from dlsched.simulation.workload.job import Job

BEGIN: Final = "2026-01-01T00:00:00"
"""Time 0 of a simulation in a record, UTC, unless it is stated."""
COMPLETED = 1
CANCELLED = 5
"""Also of a job that the simulation ended before: SWF has no status for one that still waits."""
CONTINUED = 2
LAST_COMPLETED = 3
LAST_ENDED = 4
"""The last run of several, if the simulation was ended before the job."""
_MISSING = -1


def runs_of(log: Log) -> list[list[Segment]]:
    """Return the runs of every job in the order of time; none for a job that never started.

    Segments between which only the speed changes are one: a scheduler does not record speeds.
    """
    runs: list[list[Segment]] = [[] for _ in log.meta("workload")["workload"]["jobs"]]
    segments = (Segment(*row) for row in log.rows("segments"))
    for segment in sorted(segments, key=lambda row: (row.start, row.end)):
        own = runs[segment.job]
        before = own[-1] if own else segment
        follows = before.end == segment.start and before.shares == segment.shares
        if own and follows and before.ending == Ending.CHANGED:
            own[-1] = before._replace(end=segment.end, ending=segment.ending)
        else:
            own.append(segment)
    return runs


def moment(text: str) -> int:
    """Return a time in UTC as seconds since 1970."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise OptionError(f"begin={text!r} is no time; write it as {BEGIN}") from None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    if time.microsecond:
        raise OptionError(f"begin={text!r} has a fraction of a second; records have whole ones")
    return int(time.timestamp())


def swf_text(run: Simulation, *, begin: str = BEGIN) -> str:
    """Return a simulation as SWF 2.2: header, and 18 fields a line; times in whole seconds.

    Users, models and the one queue are numbers, in the order of their first job; a comment of the
    header names each. Field 8 is the GPUs asked for, field 9 what the policy took for the running
    time.

    Parameters
    ----------
    begin
        Time 0 of the simulation; in UTC, unless it states an offset.

    Raises
    ------
    OptionError
        If the time cannot be used.
    """
    jobs = run.workload.jobs
    users = _numbers([job.tenant or "user" for job in jobs])
    models = _numbers([job.model or "unknown" for job in jobs])
    runs = runs_of(run.log)
    lines = _header(run, begin, users, models, runs)
    for position, (job, own) in enumerate(zip(jobs, runs, strict=True)):
        people = (users[job.tenant or "user"], models[job.model or "unknown"])
        lines.append(_line(position + 1, job, own, people, partial=None))
        if len(own) > 1:
            parts = range(len(own))
            lines += [_line(position + 1, job, own, people, partial=part) for part in parts]
    return "\n".join(lines) + "\n"


def write_swf(run: Simulation, path: str | Path, *, begin: str = BEGIN) -> tuple[str, ...]:
    """Write what `swf_text` returns; return what such a record cannot say of this simulation."""
    write_bytes(Path(path), swf_text(run, begin=begin).encode())
    segments = [Segment(*row) for row in run.log.rows("segments")]
    shared = sum(segment.sharing is not None for segment in segments)
    fractions = sum(segment.start % TICKS != 0 or segment.end % TICKS != 0 for segment in segments)
    notes = {
        f"{shared:,} stretches share their GPUs with other jobs: the record counts the GPUs "
        "once for each of them, so that it exceeds the cluster": shared,
        f"{fractions:,} stretches begin or end within a second: "
        "times are rounded down to whole seconds": fractions,
    }
    return tuple(note for note, count in notes.items() if count)


def _numbers(names: Sequence[str]) -> dict[str, int]:
    return {name: i + 1 for i, name in enumerate(dict.fromkeys(names))}


def _header(
    run: Simulation,
    begin: str,
    users: dict[str, int],
    models: dict[str, int],
    runs: Sequence[Sequence[Segment]],
) -> list[str]:
    cluster = run.cluster
    records = sum(len(own) + 1 if len(own) > 1 else 1 for own in runs)
    entries = {
        "Version": "2.2",
        "Computer": f"simulated, {cluster.gpus} GPUs",
        "Conversion": "dlsched",
        "Note": f"policy {run.meta['policy']}; processors are GPUs",
        "MaxJobs": len(runs),
        "MaxRecords": records,
        "Preemption": "Double" if records > len(runs) else "No",
        "UnixStartTime": moment(begin),
        "TimeZoneString": "UTC",
        "MaxNodes": len(cluster.servers),
        "MaxProcs": cluster.gpus,
        "MaxQueues": 1,
    }
    lines = [f"; {key}: {value}" for key, value in entries.items()]
    for kind, numbers in (("User", users), ("Executable", models)):
        lines += [f"; {kind}: {n} {' '.join(name.split())}" for name, n in numbers.items()]
    return lines


def _line(
    number: int, job: Job, runs: Sequence[Segment], people: tuple[int, int], partial: int | None
) -> str:
    """Return the line of a whole job, or of one of its runs.

    Times are rounded down to whole seconds. That keeps the order of all times, so that nothing that
    followed on another thing overlaps with it in the record.
    """
    user, model = people
    own = runs if partial is None else [runs[partial]]
    whole = not partial
    queued = runs[partial - 1].end // TICKS if partial else int(job.submit)
    wait = own[0].start // TICKS - queued if own else _MISSING
    ran = sum(run.end // TICKS - run.start // TICKS for run in own) if own else _MISSING
    held = max((run.gpus for run in own), default=_MISSING)
    limit = -(-ticks(job.work if job.estimate is None else job.estimate) // TICKS)
    fields = [number, int(job.submit) if whole else _MISSING, wait, ran, held, _MISSING, _MISSING]
    fields += [job.gpus, limit, _MISSING, _status(runs, partial), user, _MISSING, model, 1, 1]
    return " ".join(map(str, [*fields, _MISSING, _MISSING]))


def _status(runs: Sequence[Segment], partial: int | None) -> int:
    complete = bool(runs) and runs[-1].ending == Ending.COMPLETED
    if partial is None:
        return COMPLETED if complete else CANCELLED
    if partial < len(runs) - 1:
        return CONTINUED
    return LAST_COMPLETED if complete else LAST_ENDED
