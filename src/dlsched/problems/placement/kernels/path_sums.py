"""Sums of pairs of nodes, as sums over the steps of the paths between them."""

import cython
import numpy as np


def sum_pairs(
    paths,
    rows: cython.longlong[::1],
    weights: cython.longlong[:, ::1],
    tables: cython.longlong,
    joint: cython.longlong,
):
    """Return by sum and node the coefficients of a sum of pairs of one source each.

    A sum of the source g is sum_h w_h (y_g - l_gh) over the nodes h that are nearer than y_g, with
    l_gh the sum of x_t - y_j over the steps of the path from tables t to readers j. So y_g has the
    sum of the weights, and a step the weights of all nodes behind it, see ``beyond``.

    Parameters
    ----------
    paths
        A `programs.spreading_paths.Paths`.
    rows
        By sum: the number of its source.
    weights
        Sums x nodes: not negative.
    tables, joint
        As of `programs.spreading_paths.Links`.
    """
    distance: cython.double[:, ::1] = paths.distance
    before: cython.longlong[:, ::1] = paths.before
    order: cython.longlong[:, ::1] = paths.order
    sources: cython.longlong[::1] = paths.sources
    reach: cython.double[::1] = paths.reach
    nodes = weights.shape[1]
    total: cython.longlong[:, ::1] = np.zeros((weights.shape[0], nodes), dtype=np.int64)
    beyond: cython.longlong[::1] = np.zeros(nodes, dtype=np.int64)
    with cython.nogil:
        for i in range(rows.shape[0]):
            s = rows[i]
            near: cython.longlong = 0
            while near < nodes and distance[s, order[s, near]] < reach[s]:
                beyond[order[s, near]] = weights[i, order[s, near]]
                near += 1
            for j in range(near - 1, -1, -1):  # the farthest first: what follows a node is known
                node = order[s, j]
                amount = beyond[node]
                if node == sources[s]:
                    total[i, node] += amount
                    continue
                last = before[s, node]
                beyond[last] += amount
                may_fail: cython.bint = node >= joint or (node >= tables and last < tables)
                if may_fail:
                    total[i, last] -= amount
                    total[i, node] += amount
    return np.asarray(total)
