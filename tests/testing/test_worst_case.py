"""worst_case finds instances on which heuristics are far off, and small ones."""

from __future__ import annotations

import dlsched
from dlsched.testing import oracles, strategies, worst_case


def test_lyra_preempts_twice_the_optimum() -> None:
    """At level 1, with a positive optimum and no weights, twice the optimum, re-checked here."""
    found = worst_case(
        "reclaiming", "lyra", 1500, level=0, positive=True,
        instances=strategies.reclaiming(weighted=False),
    )  # fmt: skip
    assert found is not None
    assert found.objective.preempted >= 2 * found.optimum.preempted > 0
    assert dlsched.solve(found.instance, "lyra").objective == found.objective
    assert dlsched.solve(found.instance).objective == found.optimum
    assert oracles.reclaiming(found.instance) == found.optimum


def test_exact_methods_have_no_gap() -> None:
    """On an exact method the worst gap is 0."""
    found = worst_case("elastic", "dp", 50)
    assert found is not None
    assert found.gap == 0
    assert "optimum" in str(found)


def test_same_seed_same_worst_case() -> None:
    """The search depends on the seed alone."""
    one, two = (worst_case("elastic", "fifo", 60, seed=3) for _ in range(2))
    assert one is not None
    assert two is not None
    assert one.instance.sha256 == two.instance.sha256


def test_a_heuristic_that_solves_nothing_has_no_worst_case() -> None:
    """None, rather than a gap that means nothing."""

    def lazy(instance: object, rng: object) -> dlsched.Claim:
        return dlsched.Claim(status=dlsched.Status.NO_SOLUTION, reason="no")

    assert worst_case("reclaiming", lazy, 10) is None
