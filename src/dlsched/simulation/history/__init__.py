"""A cluster's own history: what a scheduler recorded, checked, explained and replayed."""

from dlsched.simulation.history.explanation import Explanation
from dlsched.simulation.history.history import History, read_history
from dlsched.simulation.history.period import Moment, Period
from dlsched.simulation.history.workload import Knows

__all__ = ["Explanation", "History", "Knows", "Moment", "Period", "read_history"]
