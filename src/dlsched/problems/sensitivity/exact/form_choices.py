"""Which forms to try for the proof of a level."""

import contextlib
from collections.abc import Iterator
from typing import Any

from dlsched.problems.sensitivity.definition.check import evaluate
from dlsched.problems.sensitivity.definition.schema import Instance, Solution
from dlsched.problems.sensitivity.heuristics.tuning import tune, tune_public
from dlsched.problems.sensitivity.programs.initial_patterns import add_known
from dlsched.problems.sensitivity.programs.pattern_program import Prices, Program
from dlsched.problems.sensitivity.programs.pattern_relaxation import relax
from dlsched.problems.sensitivity.structures.server_patterns import TooManyStates
from dlsched.proofs.forms.form import FormChoice
from dlsched.run import Run

_POOLED_NODES = 1000
"""Upper limit of the nodes of a proof with the form `pooled`; chosen by hand."""


def choices(instance: Instance, solution: Solution, level: int, run: Run) -> Iterator[FormChoice]:
    """Yield the forms to try for a level, the most promising first."""
    with contextlib.suppress(TooManyStates):
        yield FormChoice("pooled", nodes=_POOLED_NODES)
        parameters = _patterns(instance, solution, level, run) if instance.jobs else None
        if parameters is not None:
            yield FormChoice("patterns", parameters)
    yield FormChoice("model")


def _patterns(
    instance: Instance, solution: Solution, level: int, run: Run
) -> dict[str, Any] | None:
    """Return the prices of column generation; None if a limit struck."""
    together = level == 0 and not instance.allow_split
    program = Program(instance, whole=level == 1 or together, units=not together)
    placed = (rule(instance).solution for rule in (tune, tune_public))
    add_known(program, [solution, *(start for start in placed if isinstance(start, Solution))])
    first = relax(program, run)
    if first is None:
        return None
    parameters: dict[str, Any] = {"together": True} if together else {}
    if level == 0:
        return parameters | {"prices": _data(first.prices)}
    throughput = evaluate(instance, solution.allocation)[0]
    second = relax(program, run, int(throughput / program.granularity))
    if second is None:
        return None
    return parameters | {"prices": _data(second.prices), "held": _data(first.prices)}


def _data(prices: Prices) -> dict[str, Any]:
    return {
        "items": prices.items,
        "factor": str(prices.factor),
        "split": str(prices.split),
        "throughput": str(prices.throughput),
    }
