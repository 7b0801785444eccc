"""Trace-driven simulation: a policy decides, the log says what happened, an auditor checks it."""

from dlsched.simulation.api import compare_policies, simulate
from dlsched.simulation.engine.decision import Allocation, Decision, PolicyError, Share
from dlsched.simulation.engine.jobs import JobView
from dlsched.simulation.engine.policy import BasePolicy, Policy
from dlsched.simulation.engine.state import ServerView, State
from dlsched.simulation.environment import Environment
from dlsched.simulation.history import Explanation, History, Period, read_history
from dlsched.simulation.pictures.gantt import write_timeline
from dlsched.simulation.policies import list_policies, make_policy
from dlsched.simulation.run import Simulation
from dlsched.simulation.snapshots import Placement, Snapshot, pool, queue, snapshot
from dlsched.simulation.swf import swf_text, write_swf
from dlsched.simulation.workload.cluster import Away, Cluster, Loan, Server
from dlsched.simulation.workload.eligibility import Eligibility, eligible
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Workload

__all__ = [
    "Allocation",
    "Away",
    "BasePolicy",
    "Cluster",
    "Decision",
    "Eligibility",
    "Environment",
    "Explanation",
    "History",
    "Job",
    "JobView",
    "Loan",
    "Period",
    "Placement",
    "Policy",
    "PolicyError",
    "Server",
    "ServerView",
    "Share",
    "Simulation",
    "Snapshot",
    "State",
    "Workload",
    "compare_policies",
    "eligible",
    "list_policies",
    "make_policy",
    "pool",
    "queue",
    "read_history",
    "simulate",
    "snapshot",
    "swf_text",
    "write_swf",
    "write_timeline",
]
