"""`regroup`: two groups divided anew, the price of a GPU, and the program for few profiles."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from interleaving_instances import cover, job

import dlsched
from dlsched import Run
from dlsched.problems.interleaving import heuristics
from dlsched.problems.interleaving.definition.oracle import brute_force
from dlsched.problems.interleaving.heuristics.regroup import Grouping, few_groups
from dlsched.problems.interleaving.structures.groups import efficiencies
from dlsched.testing import check_heuristic


@pytest.fixture(params=[0, 4000], ids=["search", "program"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `regroup` work by search, or by its program for few profiles."""
    monkeypatch.setattr(heuristics, "_FEW", request.param)


@pytest.mark.usefixtures("either_way")
def test_regroup_is_a_conforming_heuristic() -> None:
    """Feasible, within bounds and repeatable on random instances, by search and by program."""
    found = check_heuristic("interleaving", "regroup", examples=25)
    assert found, str(found)


@pytest.mark.usefixtures("either_way")
def test_regroup_is_as_good_as_the_optimum_on_small_instances() -> None:
    """On four small instances of the library it is within 1 % of the optimum, in both ways."""
    for number in (1, 5, 7, 10):
        instance = dlsched.load(f"interleaving-small-{number:02}")
        best, found = (dlsched.solve(instance, rule) for rule in ("exact", "regroup"))
        assert best.status is dlsched.Status.OPTIMAL
        assert found.gap_to(best.bound)[0] <= 0.01


@pytest.mark.parametrize("price", [None, 0.0, 0.02, 0.5])
def test_no_division_of_two_groups_is_better(price: float | None) -> None:
    """After the search no division of any two groups, in price where that counts, is better."""
    made = dlsched.generate("interleaving", 3, jobs=9, grouping="cover", gpus={2: 1.0})
    made = made.model_copy(update={"gpu_budget": 8})
    found = Grouping(made, [(0, 1, 2, 3), (4, 5), (6, 7), (8,)], Run())
    found.divide(price)
    each = 0.0 if price is None else 2 * price
    stages = found.stages

    def value(*groups: tuple[int, ...]) -> float:
        full = [np.array([g]) for g in groups if g]
        return sum(float(efficiencies(stages, g)[0]) - each for g in full)

    groups = found.groups()
    assert sorted(j for g in groups for j in g) == list(range(9))
    if price is None:
        assert len(groups) == 4
    spare = [] if price is None else [()]
    for a, first in enumerate(groups):
        for second in [*groups[a + 1 :], *spare]:
            now = value(first, second)
            for side in product((0, 1), repeat=len(first) + len(second)):
                both = list(zip((*first, *second), side, strict=True))
                parts = [tuple(j for j, s in both if s == which) for which in (0, 1)]
                if max(map(len, parts)) > 4 or (price is None and not all(parts)):
                    continue
                assert value(*parts) <= now + 1e-9


def test_the_budget_goes_to_the_class_that_gains_most() -> None:
    """Two classes of jobs alike: the GPU that is spare goes where a job alone costs one GPU."""
    stages = [[4, 1], [1, 4], [4, 1], [1, 4]]
    one = [job(f"1{i}", row) for i, row in enumerate(stages)]
    made = cover([*one, *(job(f"2{i}", row, 2) for i, row in enumerate(stages[:2]))], 5)
    found = dlsched.solve(made, "regroup")
    assert found.objective == dlsched.solve(made, "exact").objective
    assert found.details["gpus"] <= 5


def test_the_program_needs_a_feasible_grouping() -> None:
    """Below the fewest GPUs the program has no grouping, and the result is none."""
    made = dlsched.load("muri-fig6").model_copy(update={"gpu_budget": 0})
    assert few_groups(made, Run()) is None


@pytest.mark.parametrize(
    ("sizes", "budget"),
    [((10**15,) * 2, 10**15), ((10**15,) * 3 + (1,) * 3, None), ((10**14,) * 3, 2 * 10**14),
     ((10**14, 10**14, 1, 1, 1), 10**14 + 2)],
)  # fmt: skip
def test_gpus_beyond_a_solvers_matrix(sizes: tuple[int, ...], budget: int | None) -> None:
    """Any numbers of GPUs of a document are grouped, and the budget is met exactly."""
    jobs = [job(f"j{j}", [1 + j % 2, 2 - j % 2], gpus) for j, gpus in enumerate(sizes)]
    made = cover(jobs, budget)
    assert dlsched.solve(made, "regroup").objective == brute_force(made)


def test_large_groups_on_eight_resources() -> None:
    """Where groups have hundreds of arrangements no exchange of two jobs helps at the end."""
    rng = np.random.default_rng(1)
    jobs = [job(f"j{j}", rng.integers(1, 9, 8).tolist()) for j in range(10)]
    made = cover(jobs, 2, max_group_size=5)
    first, second = tuple(range(5)), tuple(range(5, 10))
    found = Grouping(made, [first, second], Run())
    before = found.worth
    found.divide()
    assert found.worth > before
    groups = found.groups()
    assert sorted(map(len, groups)) == [5, 5]
    for i, j in product(range(5), repeat=2):
        a, b = map(list, groups)
        a[i], b[j] = b[j], a[i]
        worth = sum(float(efficiencies(found.stages, np.array([g]))[0]) for g in (a, b))
        assert worth <= found.worth + 1e-9


def test_a_limit_ends_the_search() -> None:
    """After a limit the groups stay as they are, and all are complete."""
    made = dlsched.generate("interleaving", 2, jobs=40, grouping="cover")
    made = made.model_copy(update={"gpu_budget": made.least_gpus + 4})
    found = dlsched.solve(made, "regroup", time_limit=1e-9)
    assert found.status is dlsched.Status.FEASIBLE
    assert found.objective == dlsched.solve(made, "swap", passes=0).objective
