"""Rounds of Muri with equal jobs are solved once."""

from typing import Any

import pytest

import dlsched
from dlsched.problems.interleaving import Instance
from dlsched.problems.interleaving.definition.check import check
from dlsched.problems.interleaving.structures.groups import solution_of
from dlsched.simulation.policies import muri_rounds
from dlsched.simulation.policies.muri_rounds import KnownRounds

STAGES = ((4, 1, 0), (1, 3, 1), (5, 5, 1), (4, 1, 0), (1, 3, 1), (2, 2, 2))


def round_of(names: str, stages: tuple[tuple[int, ...], ...]) -> Instance:
    """Return a round of jobs with these names, on three GPUs."""
    rows = [{"id": n, "stages": list(s)} for n, s in zip(names, stages, strict=True)]
    head = {"dlsched": 1, "problem": "interleaving", "name": "round", "grouping": "cover"}
    kinds = {"resources": ["storage", "gpu", "network"], "gpu_budget": 3}
    return Instance.parse({**head, **kinds, "jobs": rows}, "round")


def test_an_equal_round_is_solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other names in another order get the optimum of their own round without a search."""
    calls = []
    solve = muri_rounds._solve

    def counted(instance: Instance, *others: Any) -> Any:
        calls.append(instance)
        return solve(instance, *others)

    monkeypatch.setattr(muri_rounds, "_solve", counted)
    known = KnownRounds()
    first, again = round_of("abcdef", STAGES), round_of("uvwxyz", STAGES[::-1])
    for instance in (first, again):
        groups, solved = known.groups(instance, "exact", time_limit=None, seed=0)
        best = dlsched.solve(instance)
        assert solved["objective"] == pytest.approx([float(best.objective[0])])
        places = [[instance.job_index[name] for name in group] for group in groups]
        assert check(instance, solution_of(instance, places)).objective == best.objective
    assert len(calls) == 1
    fresh, _ = KnownRounds().groups(again, "exact", time_limit=None, seed=0)
    assert groups == fresh
    known.groups(first, "muri", time_limit=None, seed=0)
    known.groups(first, "muri", time_limit=None, seed=0)
    assert len(calls) == 4
