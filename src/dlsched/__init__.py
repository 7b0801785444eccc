"""The scheduling problems of deep-learning clusters: optima, heuristics, and the distance."""

import logging

from dlsched import display as display  # how objects show themselves
from dlsched.api import (
    bound,
    check_bound,
    check_proof,
    compare,
    export,
    frame_columns,
    from_frames,
    generate,
    list_instances,
    list_methods,
    list_problems,
    load,
    load_solution,
    model,
    prove,
    prove_bound,
    read_result,
    save,
    solve,
    verify,
)
from dlsched.errors import (
    DlschedError,
    ExtraMissing,
    InstanceChanged,
    InstanceError,
    OptionError,
    SolverDisagreement,
    SolverFailure,
    SolverMissing,
    UnknownName,
)
from dlsched.objective import Bound, ByLevel
from dlsched.plotting import plot, plot_comparison
from dlsched.registry import method
from dlsched.result import Claim, Report, Result, Status, Termination, Violation
from dlsched.run import Run, Stage, StageEvent
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution

__version__ = "0.1.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())

methods, instances = list_methods, list_instances
"""The names that these calls had first."""

__all__ = [
    "Bound",
    "ByLevel",
    "Claim",
    "DlschedError",
    "ExtraMissing",
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
    "Stage",
    "StageEvent",
    "Status",
    "Termination",
    "UnknownName",
    "Violation",
    "bound",
    "check_bound",
    "check_proof",
    "compare",
    "export",
    "frame_columns",
    "from_frames",
    "generate",
    "instances",
    "list_instances",
    "list_methods",
    "list_problems",
    "load",
    "load_solution",
    "method",
    "methods",
    "model",
    "plot",
    "plot_comparison",
    "prove",
    "prove_bound",
    "read_result",
    "save",
    "solve",
    "verify",
]
