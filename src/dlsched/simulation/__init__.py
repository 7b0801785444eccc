"""Trace-driven simulation: a policy decides, the log says what happened, an auditor checks it."""

from dlsched.simulation.api import simulate
from dlsched.simulation.comparison import compare_policies
from dlsched.simulation.engine.decision import Allocation, Decision, PolicyError, Share
from dlsched.simulation.engine.jobs import JobView
from dlsched.simulation.engine.policy import BasePolicy, Policy
from dlsched.simulation.engine.state import ServerView, State
from dlsched.simulation.environment import Environment
from dlsched.simulation.pictures.gantt import write_timeline
from dlsched.simulation.policies import list_policies, make_policy
from dlsched.simulation.run import Simulation
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
    "Job",
    "JobView",
    "Loan",
    "Policy",
    "PolicyError",
    "Server",
    "ServerView",
    "Share",
    "Simulation",
    "State",
    "Workload",
    "compare_policies",
    "eligible",
    "list_policies",
    "make_policy",
    "simulate",
    "write_timeline",
]
