"""A cluster's history against what policies, and any schedule, would have done."""

from dlsched.studies.comparison import Study, study

__all__ = ["Study", "study"]
