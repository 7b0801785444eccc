"""Forms: none leaves out a better solution, and a limit holds while one is built."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proof_cases import drawn

import dlsched
from dlsched import Run, Termination, registry
from dlsched.problems.placement import model
from dlsched.problems.placement.programs.attainable_demands import attainable
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.piecewise_estimate import Estimate
from dlsched.problems.placement.structures.arrays import arrays
from dlsched.proofs.bounds import Forms
from dlsched.proofs.check import aim
from dlsched.proofs.document import read_proof
from dlsched.proofs.forms.choice import FormChoice
from dlsched.proofs.forms.draft import Draft
from dlsched.proofs.forms.limit import Unbuilt, until
from dlsched.proofs.levels import kind_of
from dlsched.proofs.prove import ProofFailed, prove_solution
from dlsched.proofs.search import TreeSearch, Unproved
from dlsched.schema import Instance, Solution
from dlsched.testing import strategies

BASELINES = {
    "reclaiming": "random",
    "elastic": "fifo",
    "interleaving": "muri_worst_order",
    "utility": "srtf",
    "placement": "no_moves",
    "sensitivity": "proportional",
    "workers": "bfd",
    "dispatch": "local",
}
"""By problem a method that is often worse than the optimum."""


def _tried(instance: Instance, solution: Solution, level: int) -> Iterator[FormChoice]:
    """Yield all forms of an instance that a proof of a level may be about."""
    owner = registry.problem(instance.problem)
    if owner.has_module("form_choices"):
        yield from owner.module("form_choices").choices(instance, solution, level, Run())
    else:
        yield FormChoice("model")


@pytest.mark.parametrize("examples", [5, pytest.param(80, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", BASELINES)
def test_forms_prove_the_optimum_and_refuse_what_is_worse(name: str, examples: int) -> None:
    """The exact optimum has a valid proof; no form has one for a level that could be better."""
    tried: set[str] = set()

    @settings(drawn, max_examples=examples)
    @given(getattr(strategies, name)(), st.integers(0, 5))
    def run(instance: Instance, seed: int) -> None:
        best = dlsched.solve(instance)
        if best.solution is None:
            return
        proof = prove_solution(instance, best.solution, Run())
        assert [c.value for c in dlsched.check_proof(instance, proof).levels] == [*best.objective]
        worse = dlsched.solve(instance, BASELINES[name], seed=seed)
        if worse.solution is None:
            return
        pairs = enumerate(zip(worse.objective, best.objective, strict=True))
        level, by = next(((i, float(abs(a - b))) for i, (a, b) in pairs if a != b), (0, 0.0))
        if by <= 1e-6 * float(abs(best.objective[level])):
            return
        for choice in _tried(instance, worse.solution, level):
            with contextlib.suppress(ValueError, dlsched.OptionError):
                form = Forms(instance, worse.objective).build(choice.form, choice.parameters, level)
                tried.add(choice.form)
                wanted = aim(form, level, worse.objective, kind_of(form, level))
                with pytest.raises(Unproved):
                    TreeSearch(form, wanted, Run()).nodes(10_000)

    run()
    assert tried or examples < 80


def after(calls: int) -> Callable[[], Termination | None]:
    """Return what gives a reason to stop from a number of calls on."""
    counted = iter([None] * calls)
    return lambda: next(counted, Termination.TIME_LIMIT)


@pytest.mark.parametrize(
    "name", ["lyra-fig5", "utility-small-06", "interleaving-24", "placement-small-03"]
)
def test_a_limit_ends_the_building_of_a_form(name: str) -> None:
    """It strikes between two rows, or before the first; without one, the form is built."""
    instance, file = dlsched.load(name), dlsched.library.proof_file(name)
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


@pytest.mark.parametrize("name", ["_run_together", "gpu_cost", "storage_cost", "_limits"])
def test_the_limit_is_looked_at_between_the_rows_of_placement(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pyomo takes seconds for a large model, so each family of rows asks for the limit."""
    instance = dlsched.load("placement-small-03")
    spent: list[Termination] = []
    family = getattr(model, name)

    def spend_the_limit(*arguments: Any) -> Any:
        spent.append(Termination.TIME_LIMIT)
        return family(*arguments)

    monkeypatch.setattr(model, name, spend_the_limit)
    with pytest.raises(Unbuilt), until(lambda: spent[-1] if spent else None):
        model.build(instance)
    assert len(spent) == 1


def test_the_limit_is_looked_at_while_the_estimate_of_placement_is_made() -> None:
    """The demands that regions can have take seconds where jobs are many."""
    instance = dlsched.load("placement-small-03")
    shares = Shares(instance)
    with pytest.raises(Unbuilt), until(after(1)):
        attainable(shares)
    with pytest.raises(Unbuilt), until(after(1 + len(shares.demand))):
        Estimate.coarse(arrays(instance), shares)


def test_the_limit_holds_while_a_form_is_chosen() -> None:
    """Prices for the forms of a large instance end within the limit, too."""
    instance = dlsched.generate("utility", seed=1, jobs=150, slots=150)
    known = dlsched.solve(instance, "hadar").solution
    with pytest.raises(ProofFailed, match="utility: time limit, before a form was chosen"):
        dlsched.prove_bound(instance, 10**6, known, time_limit=0.2)
