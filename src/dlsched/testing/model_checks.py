"""The checks of `check_problem` for a model: its objectives, assigned solutions, proofs on it."""

from typing import Any

from dlsched import api
from dlsched.proofs.prove import ProofFailed
from dlsched.results.objective import SOLVER_PRECISION, TOLERANCE, relative_gap
from dlsched.results.result import Status
from dlsched.schema.envelope import Instance
from dlsched.testing.search import Finding
from dlsched.testing.subject import Subject, require
from dlsched.testing.trials import Broken, gap_to, precision_of

_MOST_SECONDS = 60
"""For a proof of the example."""


def model_levels(subject: Subject) -> None:
    """The model's objectives are the levels: names, senses and order."""
    import pyomo.core as pyo

    senses = {pyo.minimize: "min", pyo.maximize: "max"}
    model = api.model(subject.example())
    objectives = [(o.local_name, senses[o.sense]) for o in model.component_objects(pyo.Objective)]
    wanted = [(level.name, level.sense) for level in subject.problem.levels]
    require(objectives == wanted, f"the model's objectives are {objectives}, the levels {wanted}")


def model_assign(subject: Subject) -> Finding | None:
    """Solutions satisfy the model, which has their objective; an optimal one to nine digits.

    A model may leave out what is dominated, and is then better than a heuristic's solution. The
    levels in its module's ``ESTIMATED`` are bounds, which the method refines.
    """
    module = subject.problem.module("model")
    estimated = getattr(module, "ESTIMATED", ())

    def check(instance: Instance) -> None:
        best = api.solve(instance).solution
        for solution in filter(None, [best, *subject.feasible(instance)]):
            objective = subject.problem.check(instance, solution).objective
            assert objective is not None
            model = module.build(instance)
            module.assign(instance, model, solution)
            _require_feasible(model)
            for level, value in objective.pairs():
                component = getattr(model, level.name)
                said = _value(component)
                near = relative_gap(value, said) <= SOLVER_PRECISION
                near |= abs(float(value) - said) <= _rounding(component)
                optimal = solution is best and level.name not in estimated
                message = f"{level.name} is {value}, the model has {said}"
                require(near or (level.better(said, value) and not optimal), message)
                if not near:
                    break  # later levels compare only at equal earlier ones
            read = subject.problem.check(instance, module.read(instance, model))
            require(read.feasible, f"the solution read back is infeasible: {read.violations[:1]}")
            assert read.objective is not None
            worse = objective.better_than(read.objective)
            worse &= gap_to(objective, read.objective) > precision_of(subject.problem)
            require(not worse, f"the solution read back has {read.objective}, not {objective}")

    return subject.each(check)


def _value(expression: Any) -> float:
    import pyomo.core as pyo

    return float(pyo.value(expression))


def _rounding(objective: Any) -> float:
    """Return the rounding error of a linear objective whose terms may cancel."""
    from pyomo.repn import generate_standard_repn

    linear = generate_standard_repn(objective.expr)
    terms = [linear.constant]
    for coefficient, variable in zip(linear.linear_coefs, linear.linear_vars, strict=True):
        terms.append(coefficient * variable.value)
    largest: float = max(map(abs, terms))
    return 1e-12 * largest


def _require_feasible(model: Any) -> None:
    """Require that every constraint and bound of a model holds, to a solver's tolerance."""
    import pyomo.core as pyo

    for row in model.component_data_objects(pyo.Constraint):
        body = _value(row.body)
        for side, sign in ((row.lower, 1), (row.upper, -1)):
            if side is not None:
                limit = _value(side)
                slack = sign * (body - limit)
                message = f"the solution breaks {row.name}: {body} against {limit}"
                require(slack >= -TOLERANCE * max(1.0, abs(limit)), message)
    for variable in model.component_data_objects(pyo.Var):
        low, high = variable.bounds
        value = variable.value
        require(value is not None, f"assign gives {variable.name} no value")
        above = low is None or value >= low - TOLERANCE
        inside = above and (high is None or value <= high + TOLERANCE)
        require(inside, f"assign sets {variable.name} = {value}, outside [{low}, {high}]")


def proofs(subject: Subject) -> None:
    """The example's optimum is proved on the model in whole numbers, and the proof accepted."""
    instance = subject.example()
    result = api.solve(instance)
    if result.status is not Status.OPTIMAL:
        return
    try:
        proof = api.prove(instance, result.solution, time_limit=_MOST_SECONDS)
    except (ProofFailed, ValueError) as error:
        raise Broken("conformance", f"{instance.name} has no proof: {error}") from error
    checked = api.check_proof(instance, proof)
    names = [level.level for level in checked.levels]
    require(names == [level.name for level in subject.problem.levels], f"proved are only {names}")
