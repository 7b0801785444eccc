"""Workloads made from distributions that the papers state."""

from dlsched.simulation.workload.generators.hadar import hadar_cluster, hadar_workload
from dlsched.simulation.workload.generators.lyra import inference_load, lyra_cluster, lyra_workload
from dlsched.simulation.workload.generators.mast import mast_cluster, mast_workload
from dlsched.simulation.workload.generators.muri import muri_workload
from dlsched.simulation.workload.generators.synergy import synergy_workload

__all__ = [
    "hadar_cluster",
    "hadar_workload",
    "inference_load",
    "lyra_cluster",
    "lyra_workload",
    "mast_cluster",
    "mast_workload",
    "muri_workload",
    "synergy_workload",
]
