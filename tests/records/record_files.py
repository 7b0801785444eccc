"""Job records for tests: lines of published traces, rows of sacct, and simulations as records."""

import random
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dlsched import History, read_history
from dlsched.simulation import Cluster, Simulation, Workload, simulate

HELIOS = (
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
)
HELIOS_ROW = (
    "7,u,vcA,4,1,1,FAILED,2020-06-09 18:41:01,2020-06-09 19:00:00,2020-06-09 19:00:09,9,0\n"
)
ACME = (
    "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,"
    "submit_time,start_time,end_time,fail_time,stop_time,duration,queue,gpu_time\n"
)
PAI = "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type\n"
OPENB = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\n"
)
HEAD = "job,n,at,secs\n"
SMALL = {"id": "job", "gpus": "n", "submit": ("at", "ms"), "duration": "secs"}
"""A mapping for tables that begin with HEAD."""
SACCT = (
    "JobID|JobIDRaw|User|Account|Partition|State|Submit|Eligible|Start|End|Elapsed|Timelimit|"
    "NNodes|NCPUS|NodeList|ReqTRES|AllocTRES|JobName"
)
ROW = (
    "{0}|{0}|ann|lab|gpu|COMPLETED|2026-01-08T10:00:00|2026-01-08T10:00:00|2026-01-08T10:05:00|"
    "2026-01-08T10:15:00|00:10:00|01:00:00|1|8|n1|billing=8,cpu=8,gres/gpu=2,mem=50M,node=1|"
    "billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=50M,node=1|train"
)
SHARED = Path(__file__).parents[3] / "shared" / "data"
"""Real files, beside a checkout of those who work on dlsched."""


def write(folder: Path, name: str, content: str | bytes) -> Path:
    """Put a file in place."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def shared(name: str) -> Path:
    """Return a real file; skip the test where there is none."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is not here (../shared/data)")
    return path


def row(number: int = 1, **changes: str) -> str:
    """Return a row of sacct with some cells changed, by the names of the header."""
    cells = dict(zip(SACCT.split("|"), ROW.format(number).split("|"), strict=True))
    assert set(changes) <= set(cells)
    return "|".join((cells | changes).values())


def read(folder: Path, lines: list[str] | str, name: str = "record.txt", **options: Any) -> History:
    """Read a text, or lines, as the file of a history."""
    text = lines if isinstance(lines, str) else "\n".join(lines) + "\n"
    return read_history(write(folder, name, text), **options)


def waits(history: History) -> list[float]:
    """Return the recorded waits in the order of submission."""
    outcome: pd.DataFrame = history.within().outcome()
    return outcome["wait"].tolist()


@cache
def fifo(jobs: int = 2000, seed: int = 3, shortest: int = 1, gap: int = 220) -> Simulation:
    """Return a simulation of fifo on whole seconds, of jobs of up to 16 GPUs on 8 servers of 8."""
    rng = random.Random(seed)
    rows: list[dict[str, Any]] = []
    now = 0.0
    for j in range(jobs):
        now += rng.expovariate(1 / gap)
        rows.append(
            {
                "id": f"j{j}",
                "submit": int(now),
                "gpus": rng.choice([1, 1, 1, 2, 2, 4, 8, 16]),
                "work": max(shortest, int(rng.lognormvariate(7, 1))),
                "tenant": f"user{rng.randrange(9)}",
            }
        )
    workload = Workload.parse({"name": "own", "jobs": rows}, "test")
    return simulate(workload, Cluster.uniform(8, 8), "fifo")
