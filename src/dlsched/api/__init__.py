"""The public calls: load, solve, verify, compare, bound, generate, model, export."""

from dlsched.api.comparing import as_comparison, attempt, compare, comparison
from dlsched.api.data_frames import frame_columns, from_frames
from dlsched.api.deciding import what_if
from dlsched.api.describing import features
from dlsched.api.frontiers import frontier
from dlsched.api.generating import generate
from dlsched.api.listing import list_instances, list_methods, list_problems
from dlsched.api.loading import InstanceLike, SolutionLike, load, load_solution, save
from dlsched.api.models import export, model, model_text
from dlsched.api.next_best import best_solutions
from dlsched.api.proving import check_bound, check_proof, prove, prove_bound, vipr_texts
from dlsched.api.records import load_comparison, load_result, read_result
from dlsched.api.solving import bound, solve, validate_limits
from dlsched.api.verifying import verify

__all__ = [
    "InstanceLike",
    "SolutionLike",
    "as_comparison",
    "attempt",
    "best_solutions",
    "bound",
    "check_bound",
    "check_proof",
    "compare",
    "comparison",
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
    "model_text",
    "prove",
    "prove_bound",
    "read_result",
    "save",
    "solve",
    "validate_limits",
    "verify",
    "vipr_texts",
    "what_if",
]
