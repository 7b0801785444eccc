"""The frame that exact searches share: column generation, and the incumbent."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from dlsched.results.result import Status
from dlsched.run import Run
from dlsched.schema.solution import Solution
from dlsched.solvers.column_generation import generate
from dlsched.solvers.incumbent import Incumbent, nothing_to_do


class Packing:
    """At most `most` of many columns, within capacities, worth as much as possible."""

    most = 3.0

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.use = rng.integers(0, 9, size=(4, 60)).astype(float)
        self.worth = self.use.sum(axis=0) + rng.integers(1, 9, size=60)
        self.capacity = rng.integers(5, 20, size=4).astype(float)
        self.known = [0]

    def program(self, columns: list[int]) -> Any:
        """The optimum of the linear program over some columns."""
        rows = np.vstack([self.use[:, columns], np.ones(len(columns))])
        limits = np.append(self.capacity, self.most)
        return linprog(-self.worth[columns], A_ub=rows, b_ub=limits)

    def solve(self) -> tuple[float, np.ndarray]:
        """The optimum over the columns known, and the prices of the capacities."""
        solved = self.program(self.known)
        return -solved.fun, -solved.ineqlin.marginals[:-1]

    def price(self, prices: np.ndarray) -> tuple[float, int]:
        """The bound that prices prove, and the column of the largest reduced worth."""
        reduced = self.worth - prices @ self.use
        best = int(reduced.argmax())
        return float(prices @ self.capacity + self.most * max(0.0, reduced[best])), best

    def add(self, column: int) -> bool:
        """Add a column; whether it is new."""
        new = column not in self.known
        self.known += [column] * new
        return new


def mixed(own: np.ndarray, best: np.ndarray, weight: float) -> np.ndarray:
    """The average of prices, with a weight of the best."""
    average: np.ndarray = own + weight * (best - own)
    return average


@pytest.mark.parametrize("smoothing", [None, mixed])
@pytest.mark.parametrize("seed", range(12))
def test_the_last_bound_is_the_optimum_over_all_columns(seed: int, smoothing: Any) -> None:
    """With smoothing and without, bounds hold and end at the optimum."""
    packing = Packing(seed)
    optimum = -packing.program(list(range(60))).fun
    rounds = list(generate(packing, packing.price, Run(), mixed=smoothing))
    assert [r.last for r in rounds] == [False] * (len(rounds) - 1) + [True]
    assert all(r.bound >= optimum - 1e-9 for r in rounds)
    assert min(r.bound for r in rounds) == pytest.approx(optimum, rel=1e-9)
    assert packing.solve()[0] == pytest.approx(optimum, rel=1e-9)
    assert len(packing.known) < 60  # not by listing all of them


def test_known_prices_that_prove_the_optimum_leave_one_round() -> None:
    """Column generation that begins with the best prices is done at once."""
    packing = Packing(1)
    rounds = list(generate(packing, packing.price, Run(), mixed=mixed))
    best = min(rounds, key=lambda r: r.bound)
    again = generate(packing, packing.price, Run(), mixed=mixed, known=(best.prices, best.bound))
    assert [r.last for r in again] == [True]


def test_without_time_there_is_no_last_round() -> None:
    """Who reads the rounds can tell a limit from the end."""
    packing = Packing(1)
    assert list(generate(packing, packing.price, Run(time_limit=0.0))) == []
    assert not [r for r in generate(packing, lambda prices: None, Run()) if r.last]


def length(solution: str) -> int | None:
    """The value of a text; those with a mark are infeasible."""
    return None if "!" in solution else len(solution)


def test_what_is_better_and_feasible_becomes_the_incumbent() -> None:
    """Equal, worse and infeasible ones do not; points have the bound too."""
    run = Run()
    incumbent = Incumbent(run, length)
    incumbent.bound = 9.0
    offered = ["no!", "ab", "ba", "abc", "a", "much longer!"]
    assert [incumbent.offer(text) for text in offered] == [False, True, False, True, False, False]
    assert (incumbent.solution, incumbent.value) == ("abc", 3)
    assert [(p.objective, p.bound) for p in run.trajectory] == [(2.0, 9.0), (3.0, 9.0)]


def test_heuristics_of_the_search_are_called_only_without_others_and_the_start_is_last() -> None:
    """The start is read where it is no better, too."""

    class Text(Solution):
        text: str

    def made(text: str) -> Text:
        return Text.model_construct(problem="texts", text=text)

    def begun(found: list[str], start: str | None) -> Incumbent[str, int]:
        run = Run(start=None if start is None else made(start))
        run.found = [made(text) for text in found]
        incumbent = Incumbent(run, length)
        incumbent.offer("")  # what a search may know before changes nothing
        incumbent.begin(lambda: ["own"], lambda solution: solution.text)
        return incumbent

    assert begun([], None).solution == "own"
    assert begun(["a"], None).solution == "a"
    better, worse = begun(["a"], "ab"), begun(["ab"], "a")
    assert (better.solution, worse.solution) == ("ab", "ab")
    assert better.start == (True, "the first incumbent")
    assert worse.start == (True, "no better than the heuristics'")


def test_nothing_to_do_is_proved_on_each_level() -> None:
    """Each level has a certified bound of 0."""
    claim = nothing_to_do(None, "there are no jobs", 2)
    assert claim.status is Status.OPTIMAL
    assert [[bound.value for bound in level] for level in claim.bounds] == [[0], [0]]
