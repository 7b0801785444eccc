"""The limit of a search for a proof holds while a form is built."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

import dlsched
from dlsched.proofs.available import Forms
from dlsched.proofs.document import read_proof
from dlsched.proofs.forms.draft import Draft
from dlsched.proofs.forms.limit import Unbuilt, poll, until
from dlsched.results.status import Termination


def after(calls: int) -> Callable[[], Termination | None]:
    """Return what gives a reason to stop from a number of calls on."""
    counted = iter([None] * calls)
    return lambda: next(counted, Termination.TIME_LIMIT)


@pytest.mark.parametrize(
    "name", ["lyra-fig5", "utility-small-06", "interleaving-24", "placement-small-03"]
)
def test_a_limit_ends_the_building_of_a_form(name: str) -> None:
    """It strikes between two rows; without one, the form is built."""
    instance, file = dlsched.load(name), dlsched.problems.library.proof_file(name)
    assert file is not None
    proof = read_proof(file)
    level, targets = proof.levels[0], [level.target for level in proof.levels]
    with pytest.raises(Unbuilt, match="time limit, before the form was built"), until(after(2)):
        Forms(instance, targets).build(level.form, level.parameters, 0)
    assert Forms(instance, targets).build(level.form, level.parameters, 0).digest == level.digest


def test_no_form_is_begun_after_the_limit() -> None:
    """What struck before is noticed before the first row."""
    with pytest.raises(Unbuilt), until(after(0)):
        Draft().at_most({0: Fraction(1, 3)}, 1)
    poll()
