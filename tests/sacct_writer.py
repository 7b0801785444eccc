"""A simulation as the text that Slurm's ``sacct -X -P -D`` prints, one row per run of a job."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from dlsched.simulation import Simulation

HEADER = (
    "JobID|JobIDRaw|Cluster|User|Account|Partition|State|Submit|Eligible|Start|End|Elapsed|"
    "Timelimit|NNodes|NodeList|ReqTRES|AllocTRES|JobName"
)
STATES = {"completed": "COMPLETED", "preempted": "PREEMPTED", "changed": "RESIZING"}
TICKS = 1_000_000
"""Of the simulator's clock in a second."""


def sacct_text(
    run: Simulation,
    begin: str = "2026-01-01T00:00:00",
    timezone: str = "UTC",
    accounts: Mapping[str, str] | None = None,
) -> str:
    """Return the record; times are local, without a zone and in whole seconds, rounded down."""
    zero = datetime.fromisoformat(begin).replace(tzinfo=UTC)

    def local(seconds: int) -> str:
        time = (zero + timedelta(seconds=seconds)).astimezone(ZoneInfo(timezone))
        return time.strftime("%Y-%m-%dT%H:%M:%S")

    segments: dict[int, list[Any]] = {}
    for row in sorted(run.log.rows("segments"), key=lambda row: (row[1], row[2])):
        segments.setdefault(row[0], []).append(row)
    lines = [HEADER]
    for number, job in enumerate(run.workload.jobs, 1):
        user = re.sub(r"[|\s]", "_", job.tenant or "user")
        account = (accounts or {}).get(user) or job.account or "default"
        named = [str(number), str(number), "dlsched", user, account, job.partition or "gpu"]
        limit = clock(int(-(-(job.work if job.estimate is None else job.estimate) // 1)))
        queued = int(job.submit)
        for start, end, gpus, shares, ending in joined(segments.get(number - 1, [])):
            nodes = [name for name, *_ in json.loads(shares)]
            times = [local(queued), local(queued), local(start), local(end), clock(end - start)]
            times[3] = "Unknown" if ending == "stopped" else times[3]
            held = [
                str(len(nodes)),
                folded(nodes),
                tres(job, job.gpus, nodes),
                tres(job, gpus, nodes),
            ]
            cells = [*named, STATES.get(ending, "RUNNING"), *times, limit, *held, job.id]
            lines.append("|".join(cells))
            queued = end
        if number - 1 not in segments:
            never = [
                "PENDING",
                local(queued),
                local(queued),
                "Unknown",
                "Unknown",
                "00:00:00",
                limit,
            ]
            asked = ["1", "None assigned", tres(job, job.gpus, [""]), "", job.id]
            lines.append("|".join([*named, *never, *asked]))
    return "\n".join(lines) + "\n"


def joined(rows: Iterable[Any]) -> Iterator[tuple[int, int, int, str, str]]:
    """Yield start, end, GPUs, shares and ending of each run; speeds are not recorded."""
    before: Any = None
    for _, start, end, gpus, shares, *_, ending in rows:
        follows = before and before[4] == "changed" and (before[1], before[3]) == (start, shares)
        if before and not follows:
            yield before[0] // TICKS, before[1] // TICKS, *before[2:]
        before = (before[0] if follows else start, end, gpus, shares, str(ending))
    if before:
        yield before[0] // TICKS, before[1] // TICKS, *before[2:]


def write_sacct(run: Simulation, path: Path, accounts: Mapping[str, str] | None = None) -> None:
    """Write the record."""
    path.write_text(sacct_text(run, accounts=accounts))


def tres(job: Any, gpus: int, nodes: list[str]) -> str:
    """Return some resources."""
    kind = "" if job.gpu_type is None else f"gres/gpu:{job.gpu_type}={gpus},"
    return f"billing={gpus},cpu={gpus},{kind}gres/gpu={gpus},node={len(nodes)}"


def clock(seconds: int) -> str:
    """Return seconds as ``[D-]HH:MM:SS``."""
    days, rest = divmod(seconds, 86400)
    text = str(timedelta(seconds=rest)).zfill(8)
    return f"{days}-{text}" if days else text


def folded(names: Iterable[str]) -> str:
    """Return a list of hosts, of which those of two digits and more are in brackets."""
    groups: dict[tuple[str, int], list[str]] = {}
    for name in names:
        stem = name.rstrip("0123456789")
        groups.setdefault((stem, len(name) - len(stem)), []).append(name[len(stem) :])
    lists = []
    for (stem, _), digits in groups.items():
        numbers = sorted(int(number or 0) for number in digits)
        whole = len(numbers) > 1 and numbers[-1] - numbers[0] == len(numbers) - 1
        spelled = f"{min(digits)}-{max(digits)}" if whole else ",".join(digits)
        lists.append(stem + (f"[{spelled}]" if len(digits) > 1 else digits[0]))
    return ",".join(lists)
