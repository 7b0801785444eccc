"""The auditor: recomputes a simulation from its log, and shares no code with what wrote the log."""

from dlsched.simulation.audit.audit import KINDS, audit

__all__ = ["KINDS", "audit"]
