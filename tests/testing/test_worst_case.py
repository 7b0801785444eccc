"""worst_case finds instances on which heuristics are far off, and small ones."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import dlsched
from dlsched.problems.reclaiming import Instance
from dlsched.testing import oracles, worst_case


@st.composite
def scattered(draw: st.DrawFn) -> Instance:
    """Draw 4 or 5 servers of 2 GPUs, on which up to 5 jobs have one GPU of some servers each."""
    names = [f"s{i}" for i in range(draw(st.integers(4, 5)))]
    free = dict.fromkeys(names, 2)
    jobs: list[dict[str, Any]] = []
    for mask in draw(st.lists(st.integers(1, 2 ** len(names) - 1), max_size=5)):
        chosen = [name for i, name in enumerate(names) if mask >> i & 1]
        if all(free[name] for name in chosen):
            free |= {name: free[name] - 1 for name in chosen}
            workers = [{"server": name, "gpus": 1} for name in chosen]
            jobs.append({"id": f"j{len(jobs)}", "workers": workers})
    servers = [{"id": name, "gpus": 2} for name in names]
    data = {"name": "drawn", "demand": 2, "servers": servers, "jobs": jobs}
    return Instance.parse({"dlsched": 1, "problem": "reclaiming"} | data, "drawn")


def test_lyra_preempts_twice_the_optimum() -> None:
    """At level 1, with a positive optimum and no weights, twice the optimum, re-checked here."""
    found = worst_case("reclaiming", "lyra", 200, level=0, positive=True, instances=scattered())
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
    first, again = (
        worst_case("reclaiming", "lyra", 60, seed=3, instances=scattered()) for _ in range(2)
    )
    assert first is not None and again is not None
    assert first.instance.sha256 == again.instance.sha256
