"""Names of `dlsched.results.result` that packages of others import from here."""

from dlsched.results.result import Claim, Report, Result, Start, Status, Termination, Violation

__all__ = ["Claim", "Report", "Result", "Start", "Status", "Termination", "Violation"]
