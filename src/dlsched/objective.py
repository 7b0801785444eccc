"""Names of `dlsched.results.objective` that packages of others import from here."""

from dlsched.results.objective import Bound, ByLevel, Level, Objective

__all__ = ["Bound", "ByLevel", "Level", "Objective"]
