"""Standard forms and instances for the tests of what is inside the solvers."""

from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

import dlsched
from dlsched.problems.reclaiming import Instance
from dlsched.solvers.standard_form import StandardForm, compile_model


def make_form(
    rows: list[list[Any]],
    row_bounds: list[tuple[Any, Any]],
    bounds: list[tuple[Any, Any]],
    cost: list[Any],
    sense: str = "min",
    granularity: Fraction = Fraction(0),
    offset: Any = 0,
) -> StandardForm:
    """Return a form of one level with integer columns and the doubles nearest to exact data."""

    def doubles(data: Any) -> Any:
        return np.array([float(number) for number in data])

    return StandardForm(
        A=sparse.csc_array(np.array([doubles(row) for row in rows]).reshape(len(rows), len(cost))),
        row_lower=doubles(low for low, _ in row_bounds),
        row_upper=doubles(high for _, high in row_bounds),
        lower=doubles(low for low, _ in bounds),
        upper=doubles(high for _, high in bounds),
        integer=np.ones(len(cost), dtype=bool),
        costs=(doubles(cost),),
        offsets=(float(offset),),
        senses=(sense,),
        granularities=(granularity,),
        constraints=[f"r{i}" for i in range(len(rows))],
    )


def hard_instance(servers: int = 120, jobs: int = 400, demand: int = 40) -> Instance:
    """Return jobs on 4 random servers each; solving the default takes minutes."""
    options = {"servers": servers, "gpus": 64, "jobs": jobs, "demand": demand}
    return dlsched.generate("reclaiming", 0, scattered=4, **options)


def hard_form(servers: int = 120, jobs: int = 400, demand: int = 40) -> StandardForm:
    """Return the form of the hard instance's model."""
    return compile_model(dlsched.model(hard_instance(servers, jobs, demand)))
