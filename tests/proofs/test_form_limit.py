"""The limit of a search for a proof holds while a form is built."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

import dlsched
from dlsched.proofs.available import Forms
from dlsched.proofs.document import read_proof
from dlsched.proofs.forms.draft import Draft
from dlsched.proofs.forms.limit import Unbuilt, until
from dlsched.proofs.prove import ProofFailed
from dlsched.results.status import Termination


def after(calls: int) -> Callable[[], Termination | None]:
    """Return what gives a reason to stop from a number of calls on."""
    counted = iter([None] * calls)
    return lambda: next(counted, Termination.TIME_LIMIT)


@pytest.mark.parametrize(
    "name", ["lyra-fig5", "utility-small-06", "interleaving-24", "placement-small-03"]
)
def test_a_limit_ends_the_building_of_a_form(name: str) -> None:
    """It strikes between two rows, or before the first; without one, the form is built."""
    instance, file = dlsched.load(name), dlsched.problems.library.proof_file(name)
    assert file is not None
    proof = read_proof(file)
    level, targets = proof.levels[0], [level.target for level in proof.levels]
    with pytest.raises(Unbuilt, match="time limit, before the form was built"), until(after(2)):
        Forms(instance, targets).build(level.form, level.parameters, 0)
    assert Forms(instance, targets).build(level.form, level.parameters, 0).digest == level.digest
    with pytest.raises(Unbuilt), until(after(0)):
        Draft().at_most({0: Fraction(1, 3)}, 1)


def test_a_built_model_is_not_compiled_after_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is looked at between the stages of a model's form, and the message says which."""
    instance = dlsched.load("lyra-fig5")
    compiled: list[object] = []
    monkeypatch.setattr("dlsched.proofs.available.compile_model", compiled.append)
    with (
        pytest.raises(Unbuilt, match="time limit, before the form model was built"),
        until(after(1), "the form model was built"),
    ):
        Forms(instance, [Fraction(1)]).build("model", {}, 0)
    assert compiled == []


def test_the_limit_holds_while_a_form_is_chosen() -> None:
    """Prices for the forms of a large instance end within the limit, too."""
    instance = dlsched.generate("utility", seed=1, jobs=150, slots=150)
    known = dlsched.solve(instance, "hadar").solution
    with pytest.raises(ProofFailed, match="utility: time limit, before a form was chosen"):
        dlsched.prove_bound(instance, 10**6, known, time_limit=0.2)
