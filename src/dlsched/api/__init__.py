"""The public calls: load, solve, verify, compare, bound, generate, model, export."""

from dlsched.api.checking import verify
from dlsched.api.comparing import compare
from dlsched.api.deciding import what_if
from dlsched.api.describing import features, list_instances, list_methods, list_problems
from dlsched.api.frontiers import frontier
from dlsched.api.generating import frame_columns, from_frames, generate
from dlsched.api.loading import load, load_solution, save
from dlsched.api.models import export, model
from dlsched.api.next_best import best_solutions
from dlsched.api.proving import check_bound, check_proof, prove, prove_bound
from dlsched.api.records import load_comparison, load_result, read_result
from dlsched.api.solving import bound, solve

__all__ = [
    "best_solutions",
    "bound",
    "check_bound",
    "check_proof",
    "compare",
    "export",
    "features",
    "frame_columns",
    "from_frames",
    "frontier",
    "generate",
    "list_instances",
    "list_methods",
    "list_problems",
    "load",
    "load_comparison",
    "load_result",
    "load_solution",
    "model",
    "prove",
    "prove_bound",
    "read_result",
    "save",
    "solve",
    "verify",
    "what_if",
]
