"""What runs elsewhere or again: calls in processes, on any executor, and which code they have."""

from dlsched.execution.executors import Local, Submitit, run_all

__all__ = ["Local", "Submitit", "run_all"]
