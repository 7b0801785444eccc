"""The scheduling problems of deep-learning clusters: optima, heuristics, and the distance.

The module of a name is imported when the name is first used: ``import dlsched`` takes no time.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING

from dlsched.names import VERSION, lazy
from dlsched.text.rendering import provide

if TYPE_CHECKING:
    from dlsched.api import *  # noqa: F403
    from dlsched.display.charts import plot_overview as plot_overview
    from dlsched.display.difference import plot_difference as plot_difference
    from dlsched.display.plotting import plot as plot
    from dlsched.display.plotting import plot_comparison as plot_comparison
    from dlsched.display.search import plot_search as plot_search
    from dlsched.errors import DlschedError as DlschedError
    from dlsched.errors import ExtraMissing as ExtraMissing
    from dlsched.errors import InstanceChanged as InstanceChanged
    from dlsched.errors import InstanceError as InstanceError
    from dlsched.errors import OptionError as OptionError
    from dlsched.errors import SolverDisagreement as SolverDisagreement
    from dlsched.errors import SolverFailure as SolverFailure
    from dlsched.errors import SolverMissing as SolverMissing
    from dlsched.errors import UnknownName as UnknownName
    from dlsched.registry import method as method
    from dlsched.results.objective import Bound as Bound
    from dlsched.results.objective import ByLevel as ByLevel
    from dlsched.results.result import Claim as Claim
    from dlsched.results.result import Report as Report
    from dlsched.results.result import Result as Result
    from dlsched.results.result import Status as Status
    from dlsched.results.result import Termination as Termination
    from dlsched.results.result import Violation as Violation
    from dlsched.run import Run as Run
    from dlsched.run import Stage as Stage
    from dlsched.run import StageEvent as StageEvent
    from dlsched.schema.envelope import Instance as Instance
    from dlsched.schema.solution import Solution as Solution
    from dlsched.simulation.history import History as History
    from dlsched.simulation.history import read_history as read_history
    from dlsched.studies.comparison import Study as Study
    from dlsched.studies.comparison import study as study
    from dlsched.variants import Level as Level
    from dlsched.variants import Variant as Variant
    from dlsched.variants import variant as variant

__version__ = VERSION

logging.getLogger(__name__).addHandler(logging.NullHandler())


def _load_renderings() -> None:
    """Import what shows dlsched's own classes as text and as HTML."""
    import_module("dlsched.display.text")


provide(_load_renderings)

_NAMES = {
    "api": (
        "best_solutions bound check_bound check_proof compare export features frame_columns "
        "from_frames frontier generate list_instances list_methods list_problems load "
        "load_comparison load_result load_solution model prove prove_bound read_result save solve "
        "verify what_if"
    ),
    "errors": (
        "DlschedError ExtraMissing InstanceChanged InstanceError OptionError "
        "SolverDisagreement SolverFailure SolverMissing UnknownName"
    ),
    "display.charts": "plot_overview",
    "display.difference": "plot_difference",
    "display.plotting": "plot plot_comparison",
    "display.search": "plot_search",
    "registry": "method",
    "results.objective": "Bound ByLevel",
    "results.result": "Claim Report Result Status Termination Violation",
    "run": "Run Stage StageEvent",
    "schema.envelope": "Instance",
    "schema.solution": "Solution",
    "simulation.history": "History read_history",
    "studies.comparison": "Study study",
    "variants": "Level Variant variant",
}
"""The public names, by the module that has them; a test compares them with the imports above."""

__all__ = [name for names in _NAMES.values() for name in names.split()]
__getattr__, __dir__ = lazy(__name__, _NAMES)
