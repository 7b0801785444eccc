"""What a problem and a method are, how both are found by name, and how a method is called."""

from dlsched.registry.lookup import call, method, problem, usable_problems
from dlsched.registry.methods import Kind, Method, MethodLike
from dlsched.registry.names import (
    BUILT_IN,
    METHODS_GROUP,
    PROBLEMS_GROUP,
    is_problem,
    problem_names,
)
from dlsched.registry.problems import Problem, Start, When

__all__ = [
    "BUILT_IN",
    "METHODS_GROUP",
    "PROBLEMS_GROUP",
    "Kind",
    "Method",
    "MethodLike",
    "Problem",
    "Start",
    "When",
    "call",
    "is_problem",
    "method",
    "problem",
    "problem_names",
    "usable_problems",
]
