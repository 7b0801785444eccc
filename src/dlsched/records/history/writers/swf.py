"""A simulation in the Standard Workload Format, version 2.2, of the Parallel Workloads Archive.

Chapin et al., "Benchmarks and standards for the evaluation of parallel job schedulers", JSSPP 1999.
Processors are GPUs. A job that was preempted has a line that summarises it, and then one for each
of its runs with status 2, the last with status 3; readers that study workloads ignore these.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dlsched.records.history.writers.runs import BEGIN, JobRun, moment, notes_of, runs_of
from dlsched.schema.files import write_bytes
from dlsched.simulation.log import Ending
from dlsched.simulation.run import Simulation
from dlsched.simulation.workload.clock import TICKS, ticks
from dlsched.simulation.workload.job import Job

COMPLETED = 1
CANCELLED = 5
"""Also of a job that the simulation ended before: SWF has no status for one that still waits."""
CONTINUED = 2
LAST_COMPLETED = 3
LAST_ENDED = 4
"""The last run of several, if the simulation was ended before the job."""
_MISSING = -1


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
    return notes_of(run.log)


def _numbers(names: Sequence[str]) -> dict[str, int]:
    return {name: i + 1 for i, name in enumerate(dict.fromkeys(names))}


def _header(
    run: Simulation,
    begin: str,
    users: dict[str, int],
    models: dict[str, int],
    runs: Sequence[Sequence[JobRun]],
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
        lines += [f"; {kind}: {number} {_printable(name)}" for name, number in numbers.items()]
    return lines


def _line(
    number: int, job: Job, runs: Sequence[JobRun], people: tuple[int, int], partial: int | None
) -> str:
    """Return the line of a whole job, or of one of its runs."""
    user, model = people
    own = runs if partial is None else [runs[partial]]
    first_line = not partial
    submit = int(job.submit) if partial is None or partial == 0 else _MISSING
    wait = own[0].start - (int(job.submit) if first_line else own[0].queued) if own else _MISSING
    fields = [
        number,
        submit,
        wait,
        sum(stretch.end - stretch.start for stretch in own) if own else _MISSING,
        max((stretch.gpus for stretch in own), default=_MISSING),
        _MISSING,
        _MISSING,
        job.gpus,
        -(-ticks(job.work if job.estimate is None else job.estimate) // TICKS),
        _MISSING,
        _status(runs, partial),
        user,
        _MISSING,
        model,
        1,
        1,
        _MISSING,
        _MISSING,
    ]
    return " ".join(map(str, fields))


def _status(runs: Sequence[JobRun], partial: int | None) -> int:
    complete = bool(runs) and runs[-1].ending == Ending.COMPLETED
    if partial is None:
        return COMPLETED if complete else CANCELLED
    if partial < len(runs) - 1:
        return CONTINUED
    return LAST_COMPLETED if complete else LAST_ENDED


def _printable(text: str) -> str:
    return " ".join(text.split())
