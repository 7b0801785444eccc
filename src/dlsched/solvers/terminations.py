"""What the codes of every solver mean; a code that is in none of the tables is an error."""

from collections.abc import Mapping

from dlsched.results.result import Termination

HIGHS = {
    "kOptimal": Termination.PROVED,
    "kInfeasible": Termination.INFEASIBLE,
    "kUnbounded": Termination.UNBOUNDED,
    "kTimeLimit": Termination.TIME_LIMIT,
    "kIterationLimit": Termination.ITERATION_LIMIT,
    "kSolutionLimit": Termination.SOLUTION_LIMIT,
    "kMemoryLimit": Termination.MEMORY_LIMIT,
    "kObjectiveBound": Termination.OBJECTIVE_LIMIT,
    "kObjectiveTarget": Termination.OBJECTIVE_LIMIT,
    "kInterrupt": Termination.INTERRUPTED,
    "kHighsInterrupt": Termination.INTERRUPTED,
    "kUnknown": Termination.UNDECIDED,
}
"""HiGHS's model statuses by name. Any other one is a failure of HiGHS or an invalid model."""

PYOMO = {
    "optimal": Termination.PROVED,
    "globallyOptimal": Termination.PROVED,
    "convergenceCriteriaSatisfied": Termination.PROVED,
    "infeasible": Termination.INFEASIBLE,
    "provenInfeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
    "infeasibleOrUnbounded": Termination.UNDECIDED,
    "maxTimeLimit": Termination.TIME_LIMIT,
    "maxIterations": Termination.ITERATION_LIMIT,
    "maxEvaluations": Termination.ITERATION_LIMIT,
    "iterationLimit": Termination.ITERATION_LIMIT,
    "objectiveLimit": Termination.OBJECTIVE_LIMIT,
    "userInterrupt": Termination.INTERRUPTED,
    "interrupted": Termination.INTERRUPTED,
    "feasible": Termination.UNDECIDED,
    "intermediateNonInteger": Termination.UNDECIDED,
}
"""Pyomo's termination conditions, of both generations of its interfaces."""

LOGS: Mapping[str, Mapping[str, Termination]] = {
    "glpk": {
        "RELATIVE MIP GAP TOLERANCE REACHED": Termination.PROVED,
        "TIME LIMIT EXCEEDED": Termination.TIME_LIMIT,
        "ITERATION LIMIT EXCEEDED": Termination.ITERATION_LIMIT,
        "ITERATIONS LIMIT EXCEEDED": Termination.ITERATION_LIMIT,
        "NO DUAL FEASIBLE SOLUTION": Termination.UNDECIDED,  # it may have no primal one, either
    },
    "cbc": {
        "Result - Stopped on time limit": Termination.TIME_LIMIT,
        "Result - Stopped on node limit": Termination.ITERATION_LIMIT,
        "Result - Stopped on iteration limit": Termination.ITERATION_LIMIT,
        "Result - Stopped on solution limit": Termination.SOLUTION_LIMIT,
        "Result - User ctrl-c": Termination.INTERRUPTED,
    },
}
"""By solver the lines of its log that say why it ended, where Pyomo does not pass that on."""
