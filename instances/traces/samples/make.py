"""Write the samples: 40 jobs of this project's own, in the formats of five published traces.

Every name, time and number is drawn at random; nothing comes from a recorded trace. The formats'
oddities are there on purpose: jobs that never started or never ended, shares of a GPU, several
tasks or attempts for a job.
"""

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

SIZES = (1, 1, 1, 2, 2, 4, 4, 8, 8, 12)
JOBS = 40
PERIOD = 4 * 3600
"""Seconds in which the jobs are submitted."""
TIMES = ("submit_time", "start_time", "end_time")
HELIOS = ("job_id", "user", "vc", "gpu_num", "cpu_num", "node_num", "state")
OPENB = (
    *("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos", "pod_phase"),
    *("creation_time", "deletion_time", "scheduled_time"),
)


@dataclass(frozen=True)
class Job:
    """One job; times are in seconds from the first submission."""

    number: int
    gpus: int
    submit: int
    start: int
    end: int
    completed: bool
    user: str
    cluster: str


def jobs() -> list[Job]:
    """Return the jobs, in the order of submission."""
    rng = random.Random(20240613)
    submits = sorted(rng.randrange(PERIOD) for _ in range(JOBS))
    made = []
    for number, submit in enumerate(submits):
        start = submit - submits[0] + rng.choice((0, 0, 1, 7, 240))
        length = int(1200 * 2 ** rng.uniform(0, 4))
        made.append(
            Job(
                number,
                rng.choice(SIZES),
                submit - submits[0],
                start,
                start + length,
                rng.random() < 0.7,
                f"u{rng.randrange(16**4):04x}",
                rng.choice(("vcA01", "vcA01", "vcB02")),
            )
        )
    return made


def write(path: str, text: str) -> None:
    """Write a file beside this one."""
    place = Path(__file__).parent / path
    place.parent.mkdir(exist_ok=True)
    place.write_text(text, encoding="utf-8", newline="")


def csv(rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as lines of a CSV file."""
    return "".join(",".join(map(str, row)) + "\n" for row in rows)


def date(seconds: int, zone: str = "") -> str:
    """Return a moment as a date and time of day."""
    return f"{datetime(2031, 3, 4, 8, tzinfo=UTC) + timedelta(seconds=seconds):%F %T}{zone}"


def philly(made: Sequence[Job]) -> None:
    """Write attempts: of every ninth job two, with three minutes between them."""

    def attempt(job: Job, start: int, end: int) -> dict[str, Any]:
        machines = [min(8, job.gpus - first) for first in range(0, job.gpus, 8)]
        detail = [
            {"ip": f"m{100 + job.number + i}", "gpus": [f"gpu{g}" for g in range(count)]}
            for i, count in enumerate(machines)
        ]
        return {"start_time": date(start), "end_time": date(end), "detail": detail}

    listed = []
    for job in made:
        middle = (job.start + job.end) // 2
        two = [attempt(job, job.start, middle), attempt(job, middle + 180, job.end + 180)]
        attempts: list[dict[str, Any]] = [attempt(job, job.start, job.end)]
        attempts = two if job.number % 9 == 4 else attempts
        if job.number == 11:
            attempts = []
        if job.number == 22:
            attempts[-1]["end_time"] = None
        listed.append(
            {
                "status": "Pass" if job.completed else ("Killed", "Failed")[job.number % 2],
                "vc": job.cluster,
                "jobid": f"application_1900000000000_{job.number:04d}",
                "attempts": attempts,
                "submitted_time": date(job.submit),
                "user": job.user,
            }
        )
    write("philly/cluster_job_log", json.dumps(listed, indent=1) + "\n")


def helios(made: Sequence[Job]) -> None:
    """Write a table of Slurm jobs, every fifth of which has no GPU."""
    rows: list[Sequence[Any]] = [[*HELIOS, *TIMES, "duration", "queue"]]
    for job in made:
        state = "COMPLETED" if job.completed else ("CANCELLED", "FAILED")[job.number % 2]
        times = [date(job.submit), date(job.start), date(job.end)]
        spans = [job.end - job.start, job.start - job.submit]
        gpus = 0 if job.number % 5 == 3 else job.gpus
        nodes = max(1, -(-gpus // 8))
        first = [900100 + job.number, job.user, job.cluster, gpus, 4 * max(1, gpus), nodes]
        rows.append([*first, state, *times, *spans])
    write("helios/cluster_log.csv", csv(rows))


def acme(made: Sequence[Job]) -> None:
    """Write both clusters' tables; in that of Kalos, ``duration`` counts from the submission."""
    start = ["job_id", "user", "node_num", "gpu_num", "cpu_num"]
    memory, stops = ["mem_per_pod_GB", "shared_mem_per_pod"], ["fail_time", "stop_time"]
    spans = ["duration", "queue", "gpu_time"]
    seren: list[Sequence[Any]] = [[*start, "type", "state", *TIMES, *spans]]
    kalos: list[Sequence[Any]] = [[*start, *memory, "type", "state", *TIMES, *stops, *spans]]
    for job in made:
        state = "COMPLETED" if job.completed else ("CANCELLED", "FAILED")[job.number % 2]
        kind = ("Eval", "Pretrain", "Debug", "Other")[job.number % 4]
        first = [job.user, max(1, -(-job.gpus // 8)), job.gpus, 16 * job.gpus]
        length, wait = job.end - job.start, job.start - job.submit
        at = [date(t, "+08:00") for t in (job.submit, job.start, job.end)]
        row = [kind, state, *at, length, wait, float(length * job.gpus)]
        seren.append([700000 + job.number, *first, *row])
        utc = [date(t, "+00:00") for t in (job.submit, job.start, job.end)]
        ends = [utc[2] if state == "FAILED" else "", utc[2] if state == "CANCELLED" else ""]
        whole = [length + wait, float(wait), float((length + wait) * job.gpus)]
        if job.number == 17:  # was running when the trace was recorded
            state, utc, whole = "RUNNING", [utc[0], utc[1], ""], ["", float(wait), ""]
        kalos.append([f"dlc{job.number:05x}", *first, 100, 16.0, kind, state, *utc, *ends, *whole])
    write("acme/trace_seren.csv", csv(seren))
    write("acme/trace_kalos.csv", csv(kalos))


def pai(made: Sequence[Job]) -> None:
    """Write tasks and jobs without headers: every fourth job has parameter servers, too."""
    tasks: list[Sequence[Any]] = []
    launched: list[Sequence[Any]] = []
    for job in made:
        name = f"{job.number:04x}f00dcafe{job.number:04x}"
        status = "Terminated" if job.completed else "Failed"
        origin = 600000
        times = [float(origin + job.start), float(origin + job.end)]
        kind = ("MISC", "T4", "V100")[job.number % 3]
        share = (25.0, 50.0)[job.number % 2] if job.gpus == 1 else 100.0
        if job.number == 7:
            times[1] = ""  # type: ignore[call-overload]
        if job.number % 4 == 1:
            servers = [name, "ps", 2.0, status, *times, 400.0, 7.5, "", ""]
            tasks.append(servers)
        tasks.append([name, "worker", float(job.gpus), status, *times, 600.0, 29.25, share, kind])
        submit = float(origin + job.submit)
        launched.append([name, f"i{name}", job.user, status, submit, times[1]])
    columns = "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu"
    write("pai/pai_task_table.header", f"{columns},gpu_type\n")
    write("pai/pai_job_table.header", "job_name,inst_id,user,status,start_time,end_time\n")
    write("pai/pai_task_table.csv", csv(tasks))
    write("pai/pai_job_table.csv", csv(launched))


def openb(made: Sequence[Job]) -> None:
    """Write pods, some of which share a GPU, and some of which were never scheduled."""
    rows: list[Sequence[Any]] = [OPENB]
    for job in made:
        gpus = min(8, job.gpus)
        milli = (1000, 460, 250)[job.number % 3] if gpus == 1 else 1000
        phase, scheduled = "Succeeded" if job.completed else "Failed", job.start
        if job.number % 13 == 6:
            phase, scheduled = "Pending", ""  # type: ignore[assignment]
        spec = "V100M16|V100M32" if job.number % 7 == 2 else ""
        qos = ("LS", "BE", "Burstable")[job.number % 3]
        start = [f"openb-pod-{job.number:04d}", 4000 * gpus, 16384 * gpus, gpus, milli]
        rows.append([*start, spec, qos, phase, job.submit, job.end, scheduled])
    write("openb/openb_pod_list_default.csv", csv(rows))


if __name__ == "__main__":
    for writer in (philly, helios, acme, pai, openb):
        writer(jobs())
