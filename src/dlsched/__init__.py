"""The scheduling problems of deep-learning clusters: optima, heuristics, and the distance."""

from dlsched.api import (
    bound,
    compare,
    export,
    generate,
    instances,
    load,
    load_solution,
    methods,
    model,
    problems,
    read_result,
    save,
    solve,
    verify,
)
from dlsched.errors import (
    DlschedError,
    InstanceChanged,
    InstanceError,
    OptionError,
    SolverDisagreement,
    SolverFailure,
    SolverMissing,
    UnknownName,
)
from dlsched.problem import method
from dlsched.result import Bound, ByLevel, Claim, Report, Result, Status, Violation
from dlsched.run import Run
from dlsched.schema import Instance, Solution

__version__ = "0.1.0"

__all__ = [
    "Bound",
    "ByLevel",
    "Claim",
    "DlschedError",
    "Instance",
    "InstanceChanged",
    "InstanceError",
    "OptionError",
    "Report",
    "Result",
    "Run",
    "Solution",
    "SolverDisagreement",
    "SolverFailure",
    "SolverMissing",
    "Status",
    "UnknownName",
    "Violation",
    "bound",
    "compare",
    "export",
    "generate",
    "instances",
    "load",
    "load_solution",
    "method",
    "methods",
    "model",
    "problems",
    "read_result",
    "save",
    "solve",
    "verify",
]
