"""A cluster's own history: what a scheduler recorded, read, checked, explained and replayed."""

from dlsched.history.capacity import Capacity
from dlsched.history.explanation import Explanation
from dlsched.history.history import History
from dlsched.history.period import Period
from dlsched.history.reader import read_history
from dlsched.history.writers.sacct import sacct_text, write_sacct
from dlsched.history.writers.swf import swf_text, write_swf

__all__ = [
    "Capacity",
    "Explanation",
    "History",
    "Period",
    "read_history",
    "sacct_text",
    "swf_text",
    "write_sacct",
    "write_swf",
]
