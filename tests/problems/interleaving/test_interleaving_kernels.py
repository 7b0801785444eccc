"""The loops of interleaving: built and run by Python alike."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dlsched.problems.interleaving.kernels import local_search
from dlsched.problems.interleaving.structures.groups import padded, padded_efficiencies
from kernel_sources import as_python

SEARCHES = (local_search, as_python("problems.interleaving.kernels.local_search"))


def searched(kernel: ModuleType, name: str, seed: int) -> tuple[Any, ...]:
    """Return the groups, and whether each pass changed any, after three passes of a search."""
    rng = np.random.default_rng(seed)
    k, largest = int(rng.integers(2, 5)), int(rng.integers(2, 4))
    stages = np.eye(k)[rng.integers(k, size=9)] + rng.integers(0, 7, (9, k))
    apart = rng.random((9, 9)) < 0.1 * (seed % 2)
    jobs = kernel.Jobs(stages, min(k, largest), (apart | apart.T) if seed % 2 else None)
    rows = [tuple(part) for part in np.split(rng.permutation(9), [1, 3, 4, 6, 8])]
    if name == "divide_pairs":
        rows += [(), ()]
    members = padded(rows, min(k, largest))
    sizes = (members >= 0).sum(axis=1)
    changed = np.full(len(rows), len(rows) ** 2)
    more = () if name == "exchange_pass" else ((-1.0, 0.0, 0.1)[seed % 3],)
    search = getattr(kernel, name)
    passes = [search(jobs, members, sizes, seed % 4 == 3, changed, n, *more) for n in (1, 2, 3)]
    assert sorted(members[members >= 0].tolist()) == list(range(9))
    if not seed % 2 and name == "exchange_pass":
        before = padded_efficiencies(stages, padded(rows, members.shape[1])).sum()
        assert padded_efficiencies(stages, members).sum() >= before
    return list(map(bool, passes)), members.tolist(), sizes.tolist(), changed.tolist()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", ["exchange_pass", "divide_pairs"])
def test_local_searches(name: str, seed: int) -> None:
    """The built loops change groups as Python does, with the same efficiencies."""
    built, run = (searched(kernel, name, seed) for kernel in SEARCHES)
    assert built == run
