"""Forms: none of them leaves out a better solution, on instances small enough for brute force."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proof_cases import drawn

import dlsched
from dlsched import registry
from dlsched.proofs.available import Forms
from dlsched.proofs.forms.choice import FormChoice
from dlsched.proofs.levels import aim, kind_of
from dlsched.proofs.prove import prove_solution
from dlsched.proofs.search import TreeSearch, Unproved
from dlsched.run import Run
from dlsched.schema import Instance, Solution
from dlsched.testing import strategies

BASELINES = {
    "reclaiming": "random",
    "elastic": "fifo",
    "interleaving": "muri_worst_order",
    "utility": "fifo",
    "placement": "no_moves",
    "sensitivity": "proportional",
    "workers": "first_fit",
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
