"""Lines of published traces, and what puts a trace's file in place."""

from __future__ import annotations

from pathlib import Path

HELIOS = (
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
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
SMALL = {"id": "job", "gpus": "n", "submit": ("at", "ms"), "duration": "secs"}
"""A mapping for tables that begin with HEAD."""
HEAD = "job,n,at,secs\n"


def write(folder: Path, name: str, content: str | bytes) -> Path:
    """Put a file in place."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
