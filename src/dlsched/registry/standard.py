"""The methods that follow from a problem's model: `milp`, and the bound `lp`.

They are this library's own, so what they certify is certified: of the model as it is stated. That
its solutions are the instance's is what `dlsched.testing.check_problem` tests.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from dlsched.registry.layout import MODEL, module_name
from dlsched.registry.methods import Kind, Method
from dlsched.registry.trusted import trust
from dlsched.results.result import Claim
from dlsched.run import Run
from dlsched.schema.envelope import Instance
from dlsched.solvers.levels import SOLVER_LIBRARIES, relax_first_level, solve_levels


def standard_methods(problem: str, package: str, known: dict[str, Method]) -> Iterator[Method]:
    """Yield `milp` if no method has that name, and `lp` if there is no method of bounds.

    No `milp` of a model with levels that are only bounds (its ``ESTIMATED``).
    """
    place = module_name(package, MODEL)
    if place is None:
        return

    def milp(instance: Instance, run: Run) -> Claim:
        """Integer program: the card's model, level by level.

        Exact because the model's solutions are the instance's, of the same value.
        """
        return solve_levels(instance, run, importlib.import_module(place))

    def lp(instance: Instance, run: Run) -> Claim:
        """Linear relaxation of level 1, certified from its duals and rounded to a multiple."""
        return relax_first_level(instance, run, importlib.import_module(place))

    solved = "milp" in known or hasattr(importlib.import_module(place), "ESTIMATED")
    bounded = any(method.kind is Kind.BOUND for method in known.values())
    begins = "" if bounded else "lp"
    for name, kind, function, begins_with, taken in (
        ("milp", Kind.EXACT, milp, begins, solved),
        ("lp", Kind.BOUND, lp, "", bounded),
    ):
        if not taken:
            function.__module__ = place
            trust(function, problem)
            yield Method(name, problem, kind, function, SOLVER_LIBRARIES, begins_with)
