"""A square of a sum of weighted binaries as squares of other sums and products of pairs.

With any vectors v the square of the sum of a_g y_g is

    sum over v of (sum of v_g y_g)^2 + sum over g, h of (a_g a_h - sum over v of v_g v_h) y_g y_h.

A square is above its tangents; y_g^2 is y_g; a product with a factor above 0 is at least what the
paths between g and h say, and one with a factor below 0 at most y_g and y_h. Tangents of the sum
itself let g and h be there by half where one excludes the other, and products alone count nothing
if g and h are on no path; other vectors give more than either. The best ones solve a semidefinite
program, the dual of a relaxation of all products. As any are valid, a few are sought in doubles by
a method for any function.

Weights and vectors are whole multiples of two to minus `BITS`, their products and sums are whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dlsched.problems.placement.programs.tunables import TUNABLES
from dlsched.solvers.arrays import FloatRows, Floats, IntRows, Ints

BITS = 25
"""Weights and vectors are multiples of two to minus this."""
_LARGEST_SUM = 4.0
"""Of a vector's absolute entries, so that sums of products fit in 64 bits."""


class Split(NamedTuple):
    """A lower bound on the square: constant, terms, and products of pairs; in products' units.

    Attributes
    ----------
    constant
        Of the bound.
    terms
        By node: of the part to which it is there.
    pairs
        By two nodes: of their product, not negative; those above the diagonal only.
    """

    constant: int
    terms: Ints
    pairs: IntRows


def best_vectors(weights: Floats, present: Floats, pairs: FloatRows) -> FloatRows:
    """Return vectors with which the bound is large at a point: nodes x vectors.

    The search begins at the tangent.

    Parameters
    ----------
    weights, present
        By node: the weight, and the part to which it is there.
    pairs
        By two nodes: what the paths between them say of their product.
    """
    from scipy.optimize import Bounds, minimize

    noise = TUNABLES.noise * np.random.default_rng(0).normal(size=(len(weights), TUNABLES.vectors))
    noise[:, 0] += 1
    first = weights[:, None] * noise

    unit = float(weights @ weights)
    products, both = np.outer(present, present), np.minimum.outer(present, present)
    wanted = np.outer(weights, weights)
    own = np.diag_indices(len(weights))

    def loss(flat: Floats) -> tuple[float, Floats]:
        vectors = flat.reshape(first.shape)
        squares = vectors @ vectors.T
        rest = wanted - squares
        value = np.where(rest >= 0, pairs, both)
        value[own] = present
        reached = (squares * products).sum() + (rest * value).sum()
        slope = 2 * (products - value) @ vectors
        return -float(reached) / unit, -slope.ravel() / unit

    found = minimize(
        loss,
        first.ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(-1.0, 1.0),
        options={"maxiter": TUNABLES.iterations},
    )
    vectors: FloatRows = found.x.reshape(first.shape)
    return vectors


def split(weights: Ints, vectors: FloatRows, present: Floats, pairs: FloatRows) -> Split:
    """Return the bound by some vectors, whose tangents touch at a point; valid whatever they are.

    Parameters
    ----------
    weights
        By node, in units; their sum is at most 1.
    vectors
        Nodes x vectors.
    present, pairs
        As of `best_vectors`; a pair that is 0 is left out.
    """
    vectors = np.nan_to_num(vectors).clip(-1.0, 1.0)
    size = np.abs(vectors).sum(axis=0).clip(_LARGEST_SUM)
    whole = np.rint(vectors * (_LARGEST_SUM * 2.0**BITS / size)).astype(np.int64)
    at = np.rint(present @ whole).astype(np.int64)
    rest = np.outer(weights, weights) - whole @ whole.T
    terms = np.diag(rest) + 2 * whole @ at
    above = np.triu(2 * rest, 1)
    first, second = np.nonzero(above < 0)
    less = np.where(present[first] <= present[second], first, second)
    np.add.at(terms, less, above[first, second])
    kept = np.where((above > 0) & (pairs > 0), above, 0)
    return Split(-int(at @ at), terms, kept)
