"""A method that is never the one to take, by the measured figures, goes.

Figures are the tables of all methods in benchmarks/figures/exact_against_heuristics.md. A method
has its place if it is a paper's own, a card's `milp`, or on one of the instances, under one of the
limits of 1, 10 and 60 s,

- has the best solution or the best bound: of equal solutions that which is proved, then, as of
  equal bounds, the fastest,
- or is within 1 % of it in a quarter of its time.
"""

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dlsched import registry

ROOT = Path(__file__).parents[1]
LIMITS = (1, 10, 60)
NEAR, SHARE = 0.01, 0.25
"""The distance from the best one, and the share of its time, that give a method its place."""
PAPERS = {
    "reclaiming": "lyra gpu_fraction scf random",
    "elastic": "lyra afs fifo",
    "interleaving": "muri muri_needed greedy muri_worst_order",
    "utility": "hadar hadar_literal hadare yarn_cs tiresias",
    "placement": "hill_climbing no_moves",
    "sensitivity": "tune tune_public greedy proportional drf tetris synergy_opt",
    "workers": "bfd bases_first naive_bfd",
    "dispatch": "mast top_k federated local regional_queue global_queue regional",
    "shares": "water_filling isolated",
    "configurations": "sia_public greedy max_min shortest_first",
}
"""Methods that a paper states or compares with."""
WAITING: dict[str, str] = {}
"""Methods that go, and why. Whoever removes a method removes its line."""
KEPT = {
    "dispatch/lp": "the bound that `dlsched.bound` takes, as no solution is wanted there",
    "placement/indivisible_bound": "what the other bounds begin with, in a fifth of their time",
    "reclaiming/lp": "the relaxation of the card's model, which `spectral` begins with",
    "sensitivity/price_round": "the optimum of level 1 in an eighth of the time of `patterns`",
    "utility/srtf": "the plain order beside the papers' baselines, in place of fifo",
}
"""Methods that the figures would retire, and what they are kept for."""


@pytest.fixture
def which(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the module that reads the figures."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    return importlib.import_module("which_method")


def is_near(entry: Any, best: Any) -> bool:
    """Whether an entry is as good for its time as the best, as far as it says anything."""
    there = best.gap if best.level <= entry.level < best.level + 1 else 0
    return bool(entry.gap - there <= NEAR and entry.seconds <= SHARE * best.seconds)


def placed(which: ModuleType, entries: dict[str, Any]) -> Iterator[str]:
    """Yield the methods that have a place by one instance's solutions or bounds."""
    name = which.best(entries)
    if name is not None:
        yield name
        yield from (other for other in entries if is_near(entries[other], entries[name]))


def without_a_place(which: ModuleType, problem: str) -> set[str]:
    """Return a problem's methods that would be retired, as if those that wait were gone."""
    own = {name for name, m in registry.problem(problem).methods.items() if m.own}
    rest = {name for name in own if f"{problem}/{name}" not in WAITING}
    found = {"milp", *PAPERS[problem].split()}
    for limit in LIMITS:
        for case in which.cases(problem, limit):
            for entries in (case.solutions, case.bounds):
                found |= {*placed(which, {n: e for n, e in entries.items() if n in rest})}
    return {f"{problem}/{name}" for name in rest - found}


@pytest.mark.parametrize("problem", registry.BUILT_IN)
def test_methods_have_a_place(which: ModuleType, problem: str) -> None:
    """Each method has a place by the figures, waits for its retirement, or is kept for a reason."""
    assert list(which.cases(problem, 1)), "measure exact_against_heuristics"
    retired = without_a_place(which, problem)
    kept = {name for name in KEPT if name.startswith(f"{problem}/")}
    assert retired - kept == set(), "these would be retired"
    assert kept - retired == set(), "these have a place by the figures: remove their lines"


def test_lists_name_methods_that_are_there() -> None:
    """What is gone is in no list, and nothing is in two."""
    there = {f"{p}/{name}" for p in registry.BUILT_IN for name in registry.problem(p).methods}
    papers = {f"{p}/{name}" for p, names in PAPERS.items() for name in names.split()}
    assert {*papers, *WAITING, *KEPT} - there == set()
    assert len(papers) + len(WAITING) + len(KEPT) == len({*papers, *WAITING, *KEPT})
