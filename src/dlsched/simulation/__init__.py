"""Trace-driven simulation: a policy decides, the log says what happened, an auditor checks it."""

from dlsched.simulation.cluster import Cluster, Loan, Server
from dlsched.simulation.decision import Allocation, Decision, Share
from dlsched.simulation.job import Job
from dlsched.simulation.workload import Workload

__all__ = ["Allocation", "Cluster", "Decision", "Job", "Loan", "Server", "Share", "Workload"]
