"""What the models here share: reading an instance, and solving a model level by level.

`python models/PROBLEM.py INSTANCE [SOLVER]` prints the optimum of each level. SOLVER is any name
that Pyomo knows; HiGHS is the default.
"""

import gzip
import json
import sys
from fractions import Fraction
from pathlib import Path

import pyomo.environ as pyo
from pyomo.repn import generate_standard_repn

HIGHS = "appsi_highs"
EXACT = {"mip_rel_gap": 0, "mip_abs_gap": 0, "presolve_rule_off": 1 << 16}
"""Without the rule of enumeration, by which HiGHS 1.16 loses optima."""
SLACK = 1e-9
"""Levels are held at their optimum within this share of it, as solvers have tolerances."""


def read(path):
    """Return the instance of a file, plain or compressed by gzip."""
    data = Path(path).read_bytes()
    text = gzip.decompress(data) if str(path).endswith(".gz") else data
    return json.loads(text, object_pairs_hook=given)


def given(fields):
    """Return the fields that have a value: one that is null is as if it were left out."""
    return {name: value for name, value in fields if value is not None}


def exact(number):
    """Return a number as the file writes it."""
    return Fraction(str(number))


def optimum(model, solver=HIGHS):
    """Minimise or maximise the active objective; raise a RuntimeError if there is no optimum."""
    found = pyo.SolverFactory(solver).solve(model, options=EXACT if solver == HIGHS else {})
    pyo.assert_optimal_termination(found)


def solve(model, solver=HIGHS):
    """Return each level's optimum, with the earlier levels held at theirs."""
    levels = list(model.component_objects(pyo.Objective))
    for level in levels:
        level.deactivate()
    model.hold = pyo.ConstraintList()
    variables, values = [*model.component_data_objects(pyo.Var)], {}
    for variable in variables:
        variable.set_value(0, skip_validation=True)  # solvers leave out what costs nothing
    for level in levels:
        constant = pyo.is_fixed(level.expr)
        # Tolerances are absolute.
        unit = max(map(abs, generate_standard_repn(level.expr).linear_coefs), default=0) or 1
        level.set_value(level.expr / unit)
        if not constant or (variables and not values):  # the first says whether there is a solution
            level.activate()
            optimum(model, solver)
            level.deactivate()
        best = pyo.value(level.expr)
        values[level.name] = best * unit
        if constant:
            continue
        slack = SLACK * max(1, abs(best))
        held = level.expr <= best + slack if level.is_minimizing() else level.expr >= best - slack
        model.hold.add(held)
    return values


def main(solve_instance):
    """Solve the instance that the command line names, and print its levels."""
    if len(sys.argv) not in (2, 3):
        sys.exit(f"usage: python {sys.argv[0]} INSTANCE [SOLVER]")
    try:
        values = solve_instance(read(sys.argv[1]), *sys.argv[2:])
    except (OSError, RuntimeError, ValueError) as problem:
        sys.exit(f"{sys.argv[1]}: {problem}")
    for name, value in values.items():
        print(f"{name}={value + 0.0:.12g}")
