"""A bound on the preempted weight by eigenvalues, for jobs that are on several servers.

``x_s = 1`` says that server s is kept; k of N are. Of a job with m base servers, of which the sum n
of their x is kept, at most this part of its weight runs on, as n is a whole number:

    x_s  for m = 1,     x_s x_t  for m = 2,     (n - 1)(n - 2) / ((m - 1)(m - 2))  for m >= 3

As x_s^2 = x_s, the sum over all jobs is ``constant + linear x + x' P x / 2``, where P is 0 on its
diagonal, and equals for any vector z

    F(x) = constant + (linear + z/2) x - x' S x / 2    with S = diag(z) - P.

On the sphere ``|x - k/N|^2 = k (1 - k/N)``, within ``sum x = k``, the largest F follows from the
eigenvalues of S and a search in one number. It is convex in z, with the gradient ``(x - x^2) / 2``.

The certificate uses whole numbers alone. If S is positive semidefinite where ``sum x = 0``, F is
below its tangent at any point y with ``sum y = k``, so with the k largest entries of the gradient

    kept weight <= constant + y' S y / 2 + their sum,    gradient = linear + z/2 - S y.

Let S' be the matrix of the same form without the last entry of x, and R its Cholesky factor in few
bits, so that all sums in R' R are exact. Then z is raised by the largest sum of absolute values in
a row of ``S' - R' R``, which adds at least that to each eigenvalue of S'. R may be any matrix.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.reclaiming.definition.schema import Instance
from dlsched.run import Run
from dlsched.solvers.arrays import Floats, Ints

MOST_SERVERS = 2_000
"""With more, the eigenvalues of one matrix take seconds."""
_SEARCH_BITS = 40
_POINT_BITS = 20
_DOUBLE_BITS = 53
_INTEGER_BITS = 58
_MARGINS = (0.0, 1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 1e-2)
"""Of z, as shares of its largest entry: tried in turn until there is a Cholesky factor."""
_CLOSE = 1e-4
"""The search ends where a step gains less than this, relatively: on 1,000 servers after 3 s, with
.4 % of what 10 s more would gain."""


@dataclass(frozen=True)
class KeptWeight:
    """The form F without z, P as ``pairs``: in units of ``largest weight / 2**bits``, rounded up.

    Products of x are not negative, so larger entries of P are valid.
    """

    constant: int
    linear: Ints
    pairs: Ints

    @classmethod
    def of(cls, instance: Instance, bits: int) -> KeptWeight:
        """Return the form of an instance."""
        servers = len(instance.servers)
        linear = np.zeros(servers, dtype=np.int64)
        pairs = np.zeros((servers, servers), dtype=np.int64)
        constant = 0
        unit = Fraction(max(instance.weights), 2**bits)
        for weight, base in zip(instance.weights, instance.base_servers, strict=True):
            hosts = sorted(base)
            m = len(base)
            share = weight / unit
            if m == 1:
                linear[hosts] += math.ceil(share)
            elif m == 2:
                pairs[np.ix_(hosts, hosts)] += math.ceil(share)
            elif m:
                share *= Fraction(2, (m - 1) * (m - 2))
                constant += math.ceil(share)
                linear[hosts] -= math.floor(share)
                pairs[np.ix_(hosts, hosts)] += math.ceil(share)
        np.fill_diagonal(pairs, 0)
        return cls(constant, linear, pairs)


def is_scattered(instance: Instance) -> bool:
    """Whether most of the weight is in jobs on at least three servers, so that the LP is weak.

    A linear relaxation then returns every server in part. Elsewhere it is better than this bound.
    """
    by_hosts = zip(instance.weights, map(len, instance.base_servers), strict=True)
    on_several = sum(weight if hosts >= 3 else -weight for weight, hosts in by_hosts if hosts)
    servers = len(instance.servers)
    return on_several > 0 and 0 < instance.demand < servers <= MOST_SERVERS


def preempted_weight(instance: Instance, run: Run) -> Fraction | None:
    """Return what every choice of servers preempts at least if most of the weight is scattered.

    ``None`` if no such weight is found.
    """
    from scipy.optimize import minimize

    kept = len(instance.servers) - instance.demand
    search = _SphereSearch(KeptWeight.of(instance, _SEARCH_BITS), kept, run)
    begin = np.zeros_like(search.linear)
    with suppress(StopIteration):  # then the least so far counts
        minimize(search.value, begin, (), "L-BFGS-B", jac=True, options={"ftol": _CLOSE})
    if search.least == math.inf:
        return None
    bits = _bits_of_entries(search.diagonal, len(instance.jobs))
    most = certified(KeptWeight.of(instance, bits), search.diagonal, kept, bits)
    if most is None:
        return None
    based = zip(instance.weights, instance.base_servers, strict=True)
    total = sum((Fraction(weight) for weight, base in based if base), Fraction(0))
    return max(Fraction(0), total - Fraction(max(instance.weights)) * most)


class _SphereSearch:
    """The largest F on the sphere for a z, in floats; ``least`` and ``diagonal`` of the best z."""

    def __init__(self, form: KeptWeight, kept: int, run: Run) -> None:
        scale = 2.0**_SEARCH_BITS
        self.constant = form.constant / scale
        self.linear: Floats = form.linear / scale
        self.pairs: Floats = form.pairs / scale
        self.run = run
        self.mean = kept / len(self.linear)
        self.least = math.inf
        self.diagonal: Floats = np.zeros_like(self.linear)

    def value(self, shift: Floats) -> tuple[float, Floats]:
        """Return the largest F on the sphere for a diagonal up to a multiplier, and its gradient.

        Raises
        ------
        StopIteration
            If another evaluation would exceed the limit.
        """
        if self.run.stop_reason():
            raise StopIteration
        mean, count = self.mean, len(shift)
        quadratic = self.pairs / 2 - np.diag(shift)
        row_sums = quadratic.sum(axis=1)
        centre = quadratic - (row_sums[:, None] + row_sums[None, :]) / count
        centre += row_sums.sum() / count**2
        slope = self.linear + shift + 2 * mean * row_sums
        slope -= slope.mean()
        eigenvalues, vectors = np.linalg.eigh(centre)
        parts = vectors.T @ slope / 2
        radius = count * mean * (1 - mean)
        multiplier = _multiplier(eigenvalues, parts, radius)
        offset = vectors @ (parts / (multiplier - eigenvalues))
        beside = max(0.0, radius - float(offset @ offset))
        offset += math.sqrt(beside) * vectors[:, -1]
        point = mean + offset
        middle = self.constant + mean * float((self.linear + shift).sum() + mean * row_sums.sum())
        most = middle + multiplier * radius
        most += float((parts**2 / (multiplier - eigenvalues)).sum())
        if most < self.least:
            self.least, self.diagonal = most, 2 * (shift + multiplier)
        return most, point - point**2


def _multiplier(eigenvalues: Floats, parts: Floats, radius: float) -> float:
    """Return the multiplier m of the sphere: sum of (parts / (m - eigenvalues))^2 = radius.

    It is above all eigenvalues; just above them, where the sum is too small there.
    """
    from scipy.optimize import brentq

    def excess(multiplier: float) -> float:
        return float(((parts / (multiplier - eigenvalues)) ** 2).sum()) - radius

    largest = float(eigenvalues[-1])
    low = largest + 1e-9 * max(1.0, abs(largest))
    high = largest + math.sqrt(float(parts @ parts) / radius) + 1e-6 * max(1.0, abs(largest))
    return low if excess(low) <= 0 else float(brentq(excess, low, high))


def _bits_of_entries(diagonal: Floats, jobs: int) -> int:
    """Return an even number of bits with which sums in R' R are exact, and P fits 64 bits."""
    of_sums = math.ceil(math.log2(len(diagonal)))
    of_root = math.ceil(math.log2(4 * max(1.0, float(np.abs(diagonal).max())))) // 2 + 1
    of_factor = (_DOUBLE_BITS - of_sums) // 2 - of_root
    return 2 * min(of_factor, (_INTEGER_BITS - jobs.bit_length()) // 2)


def certified(form: KeptWeight, diagonal: Floats, kept: int, bits: int) -> Fraction | None:
    """Return the bound on the kept weight by the certificate, for a z at least as large as given.

    It is in largest weights; ``None`` where no factor is found. The form's bits are even.
    """
    scale = 2**bits
    z: Ints = np.rint(diagonal * scale).astype(np.int64)
    for margin in _MARGINS:
        raised = z + math.ceil(margin * np.abs(z).max())
        left = _not_factored(np.diag(raised) - form.pairs, bits)
        if left is not None:
            break
    else:
        return None
    z = raised + np.abs(left).sum(axis=1).max()
    y = _highest(form, z, kept)
    product = z * y - form.pairs.astype(object) @ y
    gradient = (2 * form.linear + z).astype(object) * 2**_POINT_BITS - 2 * product
    largest = sum(sorted(gradient.tolist(), reverse=True)[:kept])
    square = int(y @ product)
    total = Fraction(square, 2 ** (2 * _POINT_BITS + 1)) + Fraction(largest, 2 ** (_POINT_BITS + 1))
    return Fraction(total + form.constant, scale)


def _not_factored(matrix: Ints, bits: int) -> Ints | None:
    """Return ``S' - R' R`` for a matrix S; ``None`` if no factor R is found.

    In S' the last entry of vectors whose sum is 0 is replaced by minus the sum of the others.
    """
    others = matrix[:-1] - matrix[-1]
    reduced = others[:, :-1] - others[:, -1:]
    try:
        factor = np.linalg.cholesky(reduced / 2.0**bits).T
    except np.linalg.LinAlgError:
        return None
    root = np.rint(factor * 2.0 ** (bits // 2))
    if np.abs(root).max() ** 2 * len(root) > 2.0**_DOUBLE_BITS:
        return None
    left: Ints = reduced - (root.T @ root).astype(np.int64)
    return left if int(np.abs(left).max()) * len(left) < 2**_INTEGER_BITS else None


def _highest(form: KeptWeight, z: Ints, kept: int) -> NDArray[np.object_]:
    """Return about where F is largest, in multiples of 2**-_POINT_BITS; its sum is `kept`.

    There the gradient is the same in all directions within the plane.
    """
    system = np.ones((len(z) + 1, len(z) + 1))
    system[:-1, :-1] = np.diag(z) - form.pairs
    system[-1, -1] = 0.0
    sides = np.append(form.linear + z / 2, kept)
    point = np.linalg.solve(system, sides)
    y = np.rint(np.clip(point[:-1], -1, 2) * 2**_POINT_BITS).astype(np.int64)
    missing = (kept << _POINT_BITS) - int(y.sum())
    y += missing // len(y)
    y[: missing % len(y)] += 1
    return np.array(y.tolist(), dtype=object)
