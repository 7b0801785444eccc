"""Squares divided by vectors: never above what is possible, above tangents and products alone."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from dlsched.problems.placement.programs.split_squares import BITS, best_vectors, split

SUBSETS = {n: np.array(list(product((0, 1), repeat=n))) for n in range(2, 7)}
"""All choices of who is there, by their number."""


def value(
    weights: np.ndarray, vectors: np.ndarray, present: np.ndarray, pairs: np.ndarray
) -> float:
    """Return the bound at the point where it was made."""
    bound = split(np.rint(weights * 2**BITS).astype(np.int64), vectors, present, pairs)
    units = bound.constant + bound.terms @ present + (bound.pairs * pairs).sum()
    return float(units) / 4.0**BITS


def least_mean(weights: np.ndarray, present: np.ndarray, pairs: np.ndarray) -> float:
    """Return the least mean square over all distributions with these parts and products."""
    there = SUBSETS[len(weights)]
    first, second = np.triu_indices(len(weights), 1)
    solved = linprog(
        (there @ weights) ** 2,
        A_eq=np.vstack([there.T, np.ones(len(there))]),
        b_eq=np.append(present, 1),
        A_ub=-(there[:, first] * there[:, second]).T,
        b_ub=-pairs[first, second],
    )
    assert solved.status == 0
    return float(solved.fun)


def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return weights, and the parts and some of the products that a distribution has."""
    n = int(rng.integers(2, 7))
    chance = rng.dirichlet(np.full(len(SUBSETS[n]), 0.2))
    there = SUBSETS[n]
    pairs = (there * chance[:, None]).T @ there * (rng.random((n, n)) < 0.4)
    return rng.dirichlet(np.ones(n)), chance @ there, np.triu(pairs, 1) + np.triu(pairs, 1).T


def test_a_divided_square_is_below_every_distribution() -> None:
    """The bound at a point is at most the least mean square, whatever the vectors are."""
    rng = np.random.default_rng(1)
    better = 0
    for _ in range(150):
        weights, present, pairs = draw(rng)
        least = least_mean(weights, present, pairs)
        vectors = best_vectors(weights, present, pairs)
        found = value(weights, vectors, present, pairs)
        tangent = value(weights, weights[:, None], present, pairs)
        products = value(weights, np.zeros((len(weights), 1)), present, pairs)
        anything = value(weights, rng.normal(size=vectors.shape), present, pairs)
        assert max(found, tangent, products, anything) <= least + 1e-6
        assert found >= 0.99 * tangent  # the search ends before it is at its end
        better += found > max(tangent, products) + 1e-3
    assert better > 15


@pytest.mark.parametrize("large", [1e300, np.nan, np.inf])
def test_wild_vectors_leave_the_bound_valid(large: float) -> None:
    """Vectors with huge entries or none at all give a bound all the same."""
    weights, present, pairs = draw(np.random.default_rng(2))
    vectors = np.full((len(weights), 4), 0.1)
    vectors[0, 0] = large
    assert value(weights, vectors, present, pairs) <= least_mean(weights, present, pairs) + 1e-6
