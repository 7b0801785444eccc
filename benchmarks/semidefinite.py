"""An experiment: a semidefinite bound on traffic and GPU imbalance through shared tables.

For jobs g and regions r let y_gr say that g runs in r, and Y_g = sum_r y_gr. Two ML jobs that share
a table never run in different regions, so for every table t (E_t y_r counts its readers in r)

    (E_t Y)^2 - sum_r (E_t y_r)^2 = 0,    and    sum_r y_gr^2 - y_gr = 0.

With multipliers c_t >= 0 and m_g, cost + c (first) + m (second) is a convex quadratic if
A + diag(m) - E' diag(c) E is positive semidefinite, A being the Hessian of (2) with the sigmoid at
1/2; its minimum over 0 <= y, Y <= 1 bounds the cost. Multipliers ascend by subgradients. It
is no method of the library: `indivisible_bound` is stronger on the instances tried; see
models/placement.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from dlsched.problems.placement import Instance
from dlsched.problems.placement.programs.coefficients import groups_of
from dlsched.problems.placement.structures.arrays import arrays

_SHARPNESS = 200.0
_DOUBT = 1e-9


class Semidefinite:
    """The quadratic, its multipliers, and the best bound so far."""

    def __init__(self, instance: Instance) -> None:
        data = arrays(instance)
        groups = [
            (ml, at, jobs) for ml, at, jobs in groups_of(instance)
            if ml or any(data.hours_start[j + 1] > data.hours_start[j] for j in jobs)
        ]  # fmt: skip
        self.n, self.regions = len(groups), len(data.capacity)
        cells = {tuple(cell): i for i, cell in enumerate(np.argwhere(data.wanted > 0).tolist())}
        a, self.b = np.zeros((len(cells), self.n)), np.zeros(self.n)
        rows, columns = [], []
        for g, (ml, at, jobs) in enumerate(groups):
            if ml:
                self.b[g] = data.traffic_weight * data.job_bytes[jobs].sum() / data.bytes_read
                rows += at
                columns += [g] * len(at)
            for j in jobs:
                for i in range(data.hours_start[j], data.hours_start[j + 1]):
                    key = (int(data.hours_kind[i]), int(data.priority[j]))
                    a[cells[key], g] += data.hours[i] / data.wanted[key]
        shape = (len(data.size), self.n)
        E = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
        self.E = E[np.asarray(E.sum(axis=1)).ravel() >= 2]
        self.a = a
        self.w = np.array([data.gpu_weight * data.priority_weight[p] / 2 for _, p in cells])
        self.s = np.array([data.supply_share[:, k] for k, _ in cells])
        self.constant = self.b.sum() + (self.w * (self.s**2).sum(axis=1)).sum()
        scale = self.b + self.w @ a + 1e-6
        self.scale = scale / scale.sum()

    def value(self, c: Any, m: Any, y: Any) -> tuple[float, Any]:
        """Return the quadratic and its gradient."""
        total, ay, Ey = y.sum(axis=1), self.a @ y, self.E @ y
        ET = self.E @ total
        value = self.constant - (self.b + m) @ total + (m[:, None] * y * y).sum()
        value += (self.w * ((ay**2).sum(axis=1) - 2 * (self.s * ay).sum(axis=1))).sum()
        value += (c * (ET**2 - (Ey**2).sum(axis=1))).sum()
        gradient = self.a.T @ (2 * self.w[:, None] * (ay - self.s)) + 2 * m[:, None] * y
        gradient -= (self.b + m)[:, None] + self.E.T @ (2 * c[:, None] * Ey)
        return value, gradient + (self.E.T @ (2 * c * ET))[:, None]

    def minimum(self, c: Any, m: Any, y: Any, steps: int) -> tuple[Any, float]:
        """Return a point near the minimum, and a lower bound of it by the tangent there."""
        momentum, z, pace = 1.0, y, 1.0
        last, _ = self.value(c, m, y)
        for _ in range(steps):
            here, gradient = self.value(c, m, z)
            while True:
                new = _projected(z - gradient / (pace * self.scale[:, None]))
                step = new - z
                there, _ = self.value(c, m, new)
                reach = (gradient * step).sum() + pace / 2 * (step**2 * self.scale[:, None]).sum()
                if there <= here + reach + 1e-13:
                    break
                pace *= 2
            if there > last and momentum > 1:
                momentum, z = 1.0, y
                continue
            faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            z = new + (momentum - 1) / faster * (new - y)
            y, momentum, last = new, faster, there
        here, gradient = self.value(c, m, y)
        return y, here + np.minimum(0, gradient.min(axis=1)).sum() - (gradient * y).sum()

    def ascend(self, steps: int) -> float:
        """Return the best bound after a number of steps of the multipliers."""
        readers = np.asarray(self.E.sum(axis=1)).ravel()
        each = self.scale / np.maximum(1, np.asarray(self.E.sum(axis=0)).ravel())
        unit = (self.E @ each) / readers**2
        gamma = np.full(len(unit), 0.1)
        mu = (self.E.T @ (gamma * unit * readers)) / self.scale
        y = np.full((self.n, self.regions), 0.9 / self.regions)
        dense, root = self.E.toarray(), 1 / np.sqrt(self.scale)
        first, second = np.zeros(len(gamma) + self.n), np.zeros(len(gamma) + self.n)
        best = -np.inf
        for step in range(steps):
            c = gamma * unit
            B = (dense.T * c) @ dense - self.a.T @ (self.w[:, None] * self.a)
            B[np.diag_indices(self.n)] -= mu * self.scale
            values, vectors = np.linalg.eigh(B * np.outer(root, root))
            mu = mu + values[-1] + _DOUBT  # now positive semidefinite
            weight = np.exp(_SHARPNESS * (1 + step / 50) * (values - values[-1]))
            weight /= weight.sum()
            kept = weight > 1e-6
            U, weight = vectors[:, kept] * root[:, None], weight[kept]
            y, low = self.minimum(c, mu * self.scale, y, 40 if step % 20 else 150)
            best = max(best, low)
            total, squares = y.sum(axis=1), (y**2).sum(axis=1)
            spread = (self.scale * (total - squares)).sum()
            up = (self.E @ total) ** 2 - ((self.E @ y) ** 2).sum(axis=1)
            up -= spread * ((self.E @ U) ** 2 @ weight)
            gradient = np.append(up / readers**2, squares - total + spread * (U**2 @ weight))
            first = 0.9 * first + 0.1 * gradient
            second = 0.99 * second + 0.01 * gradient**2
            move = (
                first
                / (1 - 0.9 ** (step + 1))
                / (np.sqrt(second / (1 - 0.99 ** (step + 1))) + 1e-8)
            )
            move *= 0.05 / (1 + step / 100)
            split = len(gamma)
            gamma = np.maximum(0, gamma + move[:split] * np.maximum(0.1, gamma))
            mu = mu + move[split:] * np.maximum(0.3, np.abs(mu))
        return float(best)


def _projected(y: Any) -> Any:
    """Return the nearest point with 0 <= y and rows that add up to at most 1."""
    y = np.maximum(y, 0)
    over = y.sum(axis=1) > 1
    if over.any():
        down = -np.sort(-y[over], axis=1)
        above = np.cumsum(down, axis=1) - 1
        count = (down - above / np.arange(1, y.shape[1] + 1) > 0).sum(axis=1)
        y[over] = np.maximum(
            y[over] - (above[np.arange(len(count)), count - 1] / count)[:, None], 0
        )
    return y
