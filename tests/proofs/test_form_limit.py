"""The limit of a search for a proof holds while a form is built."""

from __future__ import annotations

import gc
import itertools
import logging
import time
from collections.abc import Callable
from fractions import Fraction

import pytest

import dlsched
from dlsched.forms.draft import Draft
from dlsched.forms.limit import Unbuilt, poll, until, watched
from dlsched.proofs.available import Forms
from dlsched.proofs.document import read_proof
from dlsched.proofs.prove import ProofFailed
from dlsched.run import Run
from dlsched.status import Termination


def after(calls: int) -> Callable[[], Termination | None]:
    """Return what gives a reason to stop from a number of calls on."""
    counted = iter([None] * calls)
    return lambda: next(counted, Termination.TIME_LIMIT)


@pytest.mark.parametrize(
    "name", ["lyra-fig5", "utility-small-06", "interleaving-24", "placement-small-03"]
)
def test_a_limit_ends_the_building_of_a_form(name: str) -> None:
    """It strikes between two rows; without one, the form is built."""
    instance, file = dlsched.load(name), dlsched.library.proof_file(name)
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


def test_what_does_not_poll_is_ended() -> None:
    """A limit ends a loop that is watched, and says before what; without a limit it is not."""
    with watched():
        assert sum(range(1000)) == 499500
    with (
        pytest.raises(Unbuilt, match="^time limit, before the end$"),
        until(Run(time_limit=0.1).stop_reason, "the end"),
        watched(),
    ):
        for _ in itertools.repeat(0, 10**9):
            pass
    with until(Run(time_limit=60).stop_reason), watched():
        assert sum(range(1000)) == 499500


def test_the_limit_holds_while_pyomo_builds(caplog: pytest.LogCaptureFixture) -> None:
    """A search ends within its limit, not once a large model is built, and says what it reached.

    Pyomo, whose work is cut off, logs no error, and the collection of garbage that it pauses is on.
    """
    instance = dlsched.generate("reclaiming", seed=1, servers=3000, demand=800)
    known = dlsched.solve(instance, "densest").solution
    began = time.thread_time()
    with until(lambda: None):
        Forms(instance, [Fraction(1)]).build("model", {}, 0)
    whole = time.thread_time() - began
    began = time.thread_time()
    with (
        caplog.at_level(logging.ERROR),
        pytest.raises(ProofFailed, match="preempted: time limit, before the form model was built"),
    ):
        dlsched.prove_bound(instance, 1, known, time_limit=whole / 8)
    assert time.thread_time() - began < whole / 2
    assert not caplog.records and gc.isenabled()


def test_the_limit_holds_while_a_form_is_chosen() -> None:
    """Prices for the forms of a large instance end within the limit, too."""
    instance = dlsched.generate("utility", seed=1, jobs=150, slots=150)
    known = dlsched.solve(instance, "hadar").solution
    with pytest.raises(ProofFailed, match="utility: time limit, before a form was chosen"):
        dlsched.prove_bound(instance, 10**6, known, time_limit=0.2)
