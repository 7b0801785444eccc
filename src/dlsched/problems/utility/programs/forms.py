"""The forms of finishes and of runs, for proofs: in integers, without a solver.

A column of both says that a job has finished by a slot; see `finishes`. Whether gangs fit is asked
by prices only in the first. The second has the runs of the model as well, see `running`, and says
for each job and vector of prices that its runs cost at least what its work costs up to its finish.
Its linear relaxation is at least as tight as the bound of any of the prices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dlsched.problems.utility.definition.schema import Instance
from dlsched.problems.utility.programs.finish_form import Finishes
from dlsched.problems.utility.programs.run_form import rows_of_runs, runs_of
from dlsched.proofs.forms.form import Form
from dlsched.proofs.forms.parameters import require_keys, whole, wholes
from dlsched.proofs.forms.restricted import Restricted
from dlsched.schema import Number

MOST_RUNS = 50_000
"""A form of more runs is refused."""
_KEYS = ("exponent", "prices")


def finishes(
    instance: Instance, parameters: Mapping[str, Any], level: int, targets: Sequence[Number]
) -> Form:
    """Return the program of finishes, with a row for each vector of prices.

    Parameters
    ----------
    parameters
        ``prices``: vectors, each with the price of a GPU of each type in every slot (a type left
        out costs nothing), in multiples of two to the power ``exponent``; any prices are valid.
        ``rounded``: whether utilities are rounded up, whose common unit may be tiny.
    """
    found, n = _finishes(instance, parameters, targets)
    goal = found.goal(bool(parameters.get("rounded")))
    return Form("finishes", found.lower, [1] * n, [True] * n, found.rows(), [goal])


def runs(
    instance: Instance, parameters: Mapping[str, Any], level: int, targets: Sequence[Number]
) -> Form:
    """Return the program of finishes and runs; parameters as of `finishes`."""
    found, n = _finishes(instance, parameters, targets)
    most = len(runs_of(found))
    if most > MOST_RUNS:
        raise ValueError(f"there are more than {MOST_RUNS:,} runs")
    rows = [*found.rows(), *rows_of_runs(found, n)]
    goal, every = found.goal(bool(parameters.get("rounded"))), n + most
    lower = [*found.lower, *[0] * most]
    return Form("runs", lower, [1] * every, [True] * every, rows, [goal], frozenset(range(n)))


FORMS = {"finishes": Restricted(finishes), "runs": Restricted(runs)}


def _finishes(
    instance: Instance, parameters: Mapping[str, Any], targets: Sequence[Number]
) -> tuple[Finishes, int]:
    """Return the finishes that matter at the prices of the parameters, and their number."""
    require_keys("of prices", parameters, _KEYS, ["rounded"])
    exponent, stated = parameters["exponent"], parameters["prices"]
    if not (whole(exponent) and isinstance(stated, list)):
        raise ValueError("the exponent must be an integer, and prices a list")
    found = Finishes(instance, exponent, Fraction(targets[0]))
    for each in stated:
        if not (isinstance(each, dict) and all(map(wholes, each.values()))):
            raise ValueError("prices must be lists of integers, by type")
        found.add(each)
    return found, len(found.columns)
