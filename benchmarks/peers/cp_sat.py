"""OR-Tools CP-SAT on the compiled model, level by level; all columns must be integer."""

from benchmarks.peers.levels import Answer, by_levels

from dlsched import Claim
from dlsched.results.result import Termination
from dlsched.run import Run
from dlsched.schema import Instance
from dlsched.solvers.cp_sat import CpSat
from dlsched.solvers.standard_form import StandardForm

_CP_SAT = CpSat()
"""Made on import, so that loading OR-Tools does not count in any run."""


def cp_sat(instance: Instance, run: Run) -> Claim:
    """OR-Tools CP-SAT on the whole model, level by level."""

    def backend(form: StandardForm, level: int, run: Run) -> Answer:
        found = _CP_SAT.solve(form, level, run)
        proven = found.termination is Termination.PROVED
        return Answer(found.values, found.bound, proven, found.message)

    return by_levels(instance, run, backend, "ortools")
