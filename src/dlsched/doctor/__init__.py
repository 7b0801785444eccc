"""Whether dlsched works on this machine: versions, extras, solvers, compiled loops, resources."""

from dlsched.doctor.examination import Examination, examine
from dlsched.doctor.finding import Finding

__all__ = ["Examination", "Finding", "examine"]
