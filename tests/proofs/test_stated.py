"""What a proof states for a form: nothing makes the form leave out a better solution."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import dlsched
from dlsched import Run
from dlsched.doctor import StandardForm, library
from dlsched.problems.dispatch.structures.blocks import coarsest, shape_of
from dlsched.problems.interleaving.programs.column_pool import Pool
from dlsched.problems.sensitivity.programs.form_columns import columns_of
from dlsched.proofs.bounds import Forms
from dlsched.proofs.check import Form, InvalidProof, aim
from dlsched.proofs.document import proof_from_data, ratio, read_proof
from dlsched.proofs.forms.compiled import form_of
from dlsched.proofs.forms.form import Goal
from dlsched.proofs.levels import kind_of
from dlsched.proofs.search import TreeSearch, Unproved
from dlsched.schema import Instance


def _refuse(
    instance: Instance, targets: Sequence[Any], level: int, form: str, parameters: dict[str, Any]
) -> None:
    """Assert that a form with these parameters is refused, or has a better solution."""
    with pytest.raises((Unproved, ValueError)):
        found = Forms(instance, targets).build(form, parameters, level)
        TreeSearch(found, aim(found, level, targets, kind_of(found, level)), Run()).nodes(1000)


@pytest.mark.parametrize("highest", [2, 100, 10**12])
def test_groups_stay_whatever_reduced_values_are_stated(highest: int) -> None:
    """Reduced values far above the groups' leave out no group, and prove no worse grouping."""
    instance = dlsched.generate("interleaving", seed=3, jobs=8)
    worse = dlsched.solve(instance, "muri_worst_order").objective
    pool = Pool(instance)
    parameters = {"prices": [0] * len(pool.profiles), "gpu": 0, "bits": 0}
    stated = {"highest": [highest] * len(pool.classes)}
    _refuse(instance, [*worse], 0, "groups", parameters | stated)


@pytest.mark.parametrize("price", [0, 1, 2**60, 2**63 - 1, 2**3000])
def test_prices_of_any_size_leave_out_no_pattern_that_matters(price: int) -> None:
    """Prices of items far beyond 64 bits are as valid as others, and prove nothing false."""
    instance = dlsched.load("sensitivity-small-10")
    worse = dlsched.solve(instance, "proportional").objective
    columns = columns_of(instance, whole=False, units=True)
    prices = {"items": [price] * len(columns.items), "factor": "1", "split": "1", "throughput": "0"}
    _refuse(instance, [*worse], 0, "patterns", {"prices": prices})


@pytest.mark.parametrize("negative", [True, False])
def test_cuts_of_negative_weights_or_repeated_shapes_are_refused(negative: bool) -> None:
    """A machine has more of such weights than the loads say that are enumerated."""
    instance = dlsched.generate("dispatch", seed=0)
    worse = dlsched.solve(instance, "local").objective
    batch = coarsest(instance)
    jobs = (job for ranked in batch.ranking for job in batch.fleet.requests[ranked.position])
    shapes = list(dict.fromkeys(shape_of(job) for job in jobs))
    one = [[shape.kind, *shape.need, 1] for shape in shapes]
    light = [[*row[:4], -(10**6)] for row in one]
    pairs = [[a, b] for a in one for b in light if a[:4] != b[:4]]
    cuts = pairs if negative else [[row] * 5 for row in one]
    with pytest.raises(ValueError, match="distinct shapes"):
        Forms(instance, [*worse]).build("counts", {"cuts": cuts}, 13)


@pytest.mark.parametrize("fast", ["a", "b"])
def test_costs_that_a_double_cannot_carry_have_nine_digits(fast: str, tmp_path: Path) -> None:
    """Reductions of 1e10 and 1e10 + 1e-7 are one double, so neither is certified as the optimum."""
    times = {"a": [10000000001, 1], "b": [10000000001, 0.9999999]}
    job = {"gpus_per_worker": 1, "min_workers": 1, "max_workers": 2, "running": True}
    jobs = [{"id": j, "running_times": row} | job for j, row in times.items()]
    data = {"dlsched": 1, "problem": "elastic", "name": "near", "capacity": 1, "jobs": jobs}
    workers = {j: 2 if j == fast else 1 for j in times}
    answer = {"dlsched": 1, "problem": "elastic", "instance": "near", "workers": workers}
    for name, content in (("i.json", data), ("s.json", answer)):
        (tmp_path / name).write_text(json.dumps(content))
    proof = dlsched.prove(tmp_path / "i.json", tmp_path / "s.json")
    kinds = [level.kind for level in dlsched.check_proof(tmp_path / "i.json", proof).levels]
    assert kinds == ["certified", "certified to nine digits"]


def test_whole_costs_of_a_level_without_a_granularity_are_not_exact() -> None:
    """They may have been rounded to integers."""
    one = np.array([[1.0]])
    program = StandardForm.of(
        sparse.csc_array(one), np.zeros(1), np.ones(1), np.ones(1), np.ones(1), sense="max"
    )
    assert not form_of("f", program).goals[0].exact
    assert form_of("f", replace(program, granularities=(Fraction(1),))).goals[0].exact


def test_a_held_level_of_fractional_values_is_not_rounded_inwards() -> None:
    """With a column that is not an integer, a value of half a unit stays within the held row."""
    goal = Goal("first", 1, {0: 1}, 0, Fraction(1), True)
    form = Form("f", [0], [1], [False], [], [goal, replace(goal, name="second")])
    held = aim(form, 1, [Fraction(1, 2), 0], "certified").rows[-1]
    assert held.low is not None and held.high is not None
    assert held.low <= Fraction(1, 2) <= held.high
    with pytest.raises(ValueError, match="no point"):
        aim(replace(form, integer=[True]), 1, [Fraction(1, 2), 0], "certified")


@pytest.mark.parametrize(
    "text", ["1e999999999", "1/0", "nan", " 1", "1_0", "", "1" * 1001, 1, None]
)
def test_ratios_are_short_texts_of_digits(text: object) -> None:
    """What is none is refused at once, not computed."""
    assert ratio("-12/8") == Fraction(-3, 2)
    with pytest.raises(ValueError):
        ratio(text)
    data: dict[str, Any] = dict.fromkeys(("problem", "instance", "instance_sha256"), "")
    data |= {"dlsched_proof": 1, "solution": {}}
    level = {"level": "", "target": text, "form": "", "digest": "", "kind": "certified"}
    with pytest.raises(dlsched.InstanceError, match="target"):
        proof_from_data({**data, "levels": [level]}, "file")


JUNK = (None, True, 2**70, "x", 1.5, [], {}, [None], [[]], {"a": [1]}, 10**999, Fraction(1, 3))


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("interleaving-24", ("bits", "gpu", "prices", "highest")),
        ("sensitivity-small-10", ("prices",)),
        ("utility-8x20", ("exponent", "prices")),
    ],
)
def test_parameters_of_other_types_are_errors(name: str, needed: tuple[str, ...]) -> None:
    """Also ones that are missing: the message is one of the check, never of the interpreter."""
    instance = dlsched.load(name)
    file = library.proof_file(name)
    assert file is not None
    proof = read_proof(file)
    first = proof.levels[0]
    for key in needed:
        rest = {k: v for k, v in first.parameters.items() if k != key}
        for parameters in [rest, *(rest | {key: junk} for junk in JUNK)]:
            levels = [replace(first, parameters=parameters), *proof.levels[1:]]
            with pytest.raises(InvalidProof):
                dlsched.check_proof(instance, replace(proof, levels=levels))


def test_costs_that_became_whole_by_rounding_are_covered() -> None:
    """What a double next to a whole number lost is not proved, nor lost by a later level's row."""
    exact = 3 - Fraction(1, 2**52)  # its double is this or 3
    goal = Goal("cost", 1, {0: 3}, 0, Fraction(1), False)
    form = Form(
        "drawn", [0], [2**60], [False], [], [goal, Goal("x", -1, {0: -1}, 0, goal.unit, True)]
    )
    target = exact * 2**60
    wanted = aim(form, 0, [target, 2**60], kind_of(form, 0))
    least = wanted.least * exact / 3  # what the true costs are where the form's are so much
    assert target * (1 - Fraction(1, 10**9)) < least < target
    high = aim(form, 1, [target, 2**60], kind_of(form, 1)).rows[-1].high
    assert high is not None and high >= 3 * 2**60
