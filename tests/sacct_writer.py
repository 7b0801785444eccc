"""A simulation as the text that Slurm's ``sacct -X -P -D`` prints, one row per run of a job."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from dlsched.records.history.writer import BEGIN, JobRun, moment, runs_of
from dlsched.simulation import Simulation
from dlsched.simulation.log import Ending
from dlsched.simulation.workload.clock import TICKS, ticks
from dlsched.simulation.workload.job import Job

HEADER = (
    "JobID|JobIDRaw|Cluster|User|Account|Partition|State|Submit|Eligible|Start|End|Elapsed|"
    "Timelimit|NNodes|NodeList|ReqTRES|AllocTRES|JobName"
)
STATES = dict(zip(Ending, ("COMPLETED", "PREEMPTED", "RESIZING", "RUNNING"), strict=True))


def sacct_text(
    run: Simulation,
    begin: str = BEGIN,
    timezone: str = "UTC",
    accounts: Mapping[str, str] | None = None,
) -> str:
    """Return the record; times are local, without a zone and in whole seconds."""
    zero, zone = moment(begin), ZoneInfo(timezone)

    def local(seconds: int) -> str:
        return datetime.fromtimestamp(zero + seconds, zone).strftime("%Y-%m-%dT%H:%M:%S")

    def row(number: int, job: Job, part: JobRun | None) -> str:
        user = re.sub(r"[|\s]", "_", job.tenant or "user")
        account = (accounts or {}).get(user) or job.account or "default"
        limit = clock(-(-ticks(job.work if job.estimate is None else job.estimate) // TICKS))
        queued = local(int(job.submit) if part is None else part.queued)
        cells = [str(number), str(number), "dlsched", user, account, job.partition or "gpu"]
        if part is None:
            never = ["PENDING", queued, queued, "Unknown", "Unknown", "00:00:00", limit, "1"]
            return "|".join([*cells, *never, "None assigned", tres(job, job.gpus, 1), "", job.id])
        end = "Unknown" if part.ending == Ending.STOPPED else local(part.end)
        cells += [STATES[part.ending], queued, queued, local(part.start), end]
        nodes = [name for name, _ in part.shares]
        cells += [clock(part.end - part.start), limit, str(len(nodes)), folded(nodes)]
        given = tres(job, part.gpus, len(nodes))
        return "|".join([*cells, tres(job, job.gpus, len(nodes)), given, job.id])

    lines = [HEADER]
    for number, (job, parts) in enumerate(zip(run.workload.jobs, runs_of(run.log), strict=True), 1):
        lines += [row(number, job, part) for part in parts or [None]]
    return "\n".join(lines) + "\n"


def write_sacct(
    run: Simulation, path: Path, begin: str = BEGIN, accounts: Mapping[str, str] | None = None
) -> None:
    """Write the record."""
    path.write_text(sacct_text(run, begin, accounts=accounts))


def tres(job: Job, gpus: int, nodes: int) -> str:
    """Return some resources."""
    kind = "" if job.gpu_type is None else f"gres/gpu:{job.gpu_type}={gpus},"
    return f"billing={gpus},cpu={gpus},{kind}gres/gpu={gpus},node={nodes}"


def clock(seconds: int) -> str:
    """Return seconds as ``[D-]HH:MM:SS``."""
    days, rest = divmod(seconds, 86400)
    text = str(timedelta(seconds=rest)).zfill(8)
    return f"{days}-{text}" if days else text


def folded(names: Iterable[str]) -> str:
    """Return a list of hosts, of which neighbours that count up by one are a range."""
    groups: list[tuple[str, list[str]]] = []
    for name in sorted(names, key=lambda name: (name.rstrip("0123456789"), len(name), name)):
        match = re.fullmatch(r"(.*?)(\d{1,15})", name)
        prefix, digits = match.groups() if match else (name, "")
        if digits and groups and groups[-1][0] == prefix and groups[-1][1]:
            last = groups[-1][1]
            first, _, before = last[-1].rpartition("-")
            if str(int(before) + 1).zfill(len(before)) == digits:
                last[-1] = f"{first or before}-{digits}"
            else:
                last.append(digits)
        else:
            groups.append((prefix, [digits] if digits else []))
    lists = []
    for prefix, ranges in groups:
        text = ",".join(ranges)
        lists.append(prefix + (f"[{text}]" if "-" in text or "," in text else text))
    return ",".join(lists)
