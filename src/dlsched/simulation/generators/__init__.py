"""Workloads made from distributions that the papers state."""

from dlsched.simulation.generators.synergy import synergy_workload

__all__ = ["synergy_workload"]
