"""Solutions sent in for instances of the library: checked, and compared with the best known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dlsched import api, registry
from dlsched.errors import InstanceError, SolverDisagreement
from dlsched.problems import library
from dlsched.results.objective import Bounds, Objective, closed
from dlsched.results.result import Report
from dlsched.schema.solution import Credit, Solution

Verdict = Literal["improves", "equals", "worse", "infeasible"]


@dataclass(frozen=True)
class Submission:
    """The verdict on a solution that was sent in.

    Attributes
    ----------
    instance
        Name of the library instance.
    verdict
        Whether it improves the best known solution, equals it in every level, is worse, or is
        infeasible.
    report
        The checker's report, with the gap to the recorded bound.
    best_known, bound
        Best known objective and bounds in the library's index.
    solution
        What was sent in.
    """

    instance: str
    verdict: Verdict
    report: Report
    best_known: Objective
    bound: Bounds
    solution: Solution

    @property
    def closes(self) -> bool:
        """Whether it attains the recorded bound in every level, so that the instance is solved."""
        value = self.report.objective
        return self.report.feasible and value is not None and closed(value, self.bound)

    def credited(self, credit: Credit | None = None) -> Solution:
        """Return the solution with its instance's name and digest, and with a credit.

        Raises
        ------
        InstanceError
            If no credit is given, and the solution has none.
        """
        credit = credit or self.solution.credit
        if credit is None:
            remedy = "say who found it: dlsched submit-check FILE --by NAME -o OUT"
            raise InstanceError("the solution", "credit", "is missing", remedy)
        digest = api.load(self.instance).sha256
        labels = {"instance": self.instance, "instance_sha256": digest, "credit": credit}
        return self.solution.model_copy(update=labels)


def check_submission(source: str | Path | dict[str, Any] | Solution) -> Submission:
    """Check a solution of a library instance, which is found by its digest, else by its name.

    Raises
    ------
    InstanceError
        If it cannot be read, or belongs to no library instance.
    SolverDisagreement
        If it is feasible and beats the recorded bound, which is then wrong.
    """
    solution = api.load_solution(source)
    where = str(source) if isinstance(source, (str, Path)) else "the solution"
    digest = solution.instance_sha256
    name = library.name_of(digest) if digest else solution.instance
    if name is None or name not in library.index():
        what = f'is of "{solution.instance}", which is not in the library'
        raise InstanceError(where, "instance", what, "see: dlsched list instances")
    known = api.load(name)
    if solution.problem != known.problem:
        what = f'is "{solution.problem}", where {name} is an instance of "{known.problem}"'
        remedy = "send a solution of that problem, or name its own instance"
        raise InstanceError(where, "problem", what, remedy)
    best = library.best_objective(known.sha256)
    bound = library.best_bounds(known.sha256)
    assert best is not None and bound is not None
    report = api.verify(known, solution)
    if not report.feasible or report.objective is None:
        return Submission(name, "infeasible", report, best, bound, solution)
    _validate_possible(name, report.objective, bound)
    verdict: Verdict = "worse"
    if report.objective.better_than(best):
        verdict = "improves"
    elif report.objective == best:
        verdict = "equals"
    return Submission(name, verdict, report, best, bound, solution)


def _validate_possible(name: str, objective: Objective, bounds: Bounds) -> None:
    """Raise if a value beats its bound, however little, and all earlier levels are at their bounds.

    Unlike `beaten_level`, for which a claimed bound has the tolerance of solvers: the library's are
    to be looked at before a solution replaces what is recorded.
    """
    levels = registry.problem(str(library.index()[name]["problem"])).levels
    for level, value, bound in zip(levels, objective, bounds, strict=True):
        if bound is None or level.better(bound.value, value):
            return
        if level.better(value, bound.value):
            raise SolverDisagreement(
                f"{name}: {level.name} = {value} beats the library's bound {bound}: report it"
            )
