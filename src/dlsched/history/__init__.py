"""A cluster's own history: what a scheduler recorded, read, checked, explained and replayed."""

from dlsched.history.capacity import Capacity
from dlsched.history.explanation import Explanation
from dlsched.history.history import History
from dlsched.history.period import Period
from dlsched.history.reader import read_history

__all__ = ["Capacity", "Explanation", "History", "Period", "read_history"]
