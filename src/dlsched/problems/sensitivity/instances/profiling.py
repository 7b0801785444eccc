"""Optimistic profiling (Synergy, section 3.1): few measurements, the rest of the matrix by a model.

The sensitivity matrix has seconds per epoch by CPUs and memory. `profile_cpus` measures a job at a
few numbers of CPUs with its whole data set in memory, `fill_memory` computes the times with less
memory, `best_case` reads the job's demand from the matrix, and `sensitivity_profile` makes it a
profile of an instance. `error_bound` limits the error of what was not measured.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from dlsched.errors import InstanceError, OptionError
from dlsched.problems.sensitivity.instances.cpu_profiles import (
    CpuProfile,
    as_number,
    at_least_zero,
    checked_points,
    whole_from_one,
)
from dlsched.schema.files import JsonObject

if TYPE_CHECKING:
    import pandas

MB_PER_GB = 1024
_DIGITS = 12
"""Decimals of the throughputs of a sensitivity profile."""


class Demand(NamedTuple):
    """CPUs and memory (GB) of a job, and its seconds per epoch with them."""

    cpus: int
    memory: float
    seconds: float


@dataclass(frozen=True)
class SensitivityMatrix:
    """Seconds per epoch of a job."""

    cpus: tuple[int, ...]
    """Numbers of CPUs of the whole job, rising."""
    memory: tuple[float, ...]
    """GB of memory of the whole job, rising."""
    seconds: tuple[tuple[float, ...], ...]
    """``seconds[i][j]`` is the time with ``cpus[i]`` and ``memory[j]``."""

    def at(self, cpus: float, memory: float) -> float:
        """Return the seconds per epoch at a point of both axes; raise `OptionError` elsewhere."""
        for name, value, axis in (("cpus", cpus, self.cpus), ("memory", memory, self.memory)):
            if value not in axis:
                raise OptionError(f"{name}={value!r} is not on the axis {list(axis)}")
        row = self.seconds[self.cpus.index(int(cpus))]
        return row[self.memory.index(memory)]

    def to_frame(self) -> pandas.DataFrame:
        """Return the matrix as a table: one row per number of CPUs, one column per GB."""
        import pandas as pd

        index = pd.Index(self.cpus, name="cpus")
        columns = pd.Index(self.memory, name="memory_gb")
        return pd.DataFrame(self.seconds, index=index, columns=columns)


def fill_memory(
    points: CpuProfile | Mapping[int, float],
    memory_gb: Sequence[float],
    dataset_gb: float,
    storage_mb_s: float,
    cache_gb_s: float | Mapping[int, float],
) -> SensitivityMatrix:
    """Compute the seconds per epoch with less memory than the data set needs.

    With m GB of a data set of D GB in a cache whose hits are fixed (MinIO), the share of hits is
    h = min(1, m / D), the fetch time h D / cache + (1 - h) 1024 D / storage, and an epoch takes
    the longer of fetching and T(c, full), the measured time with the data set in memory.

    Parameters
    ----------
    points
        A profile or its `CpuProfile.curve`: seconds per epoch by number of CPUs, at full memory.
    memory_gb
        The memory axis in GB, for the whole job, in any order.
    dataset_gb
        Size of the data set in GB.
    storage_mb_s
        Bandwidth of storage in MB/s; a GB has 1,024 MB.
    cache_gb_s
        Bandwidth of memory in GB/s; one number, or a number for each number of CPUs **(D)** (the
        paper has one; the public code measures it with each number).

    Raises
    ------
    InstanceError
        If a point is not a positive time.
    OptionError
        If the memory axis is empty or a size or bandwidth is not positive.
    """
    measured = checked_points(points)
    known = {as_number(m) for m in memory_gb}
    sizes = sorted(m for m in known if m is not None and 0 <= m < math.inf)
    if not sizes or len(sizes) < len(known):
        raise OptionError(f"memory_gb={memory_gb!r} must be at least one size in GB, from 0")
    _positive("dataset_gb", dataset_gb)
    _positive("storage_mb_s", storage_mb_s)
    rows = []
    for cpus, full in sorted(measured.items()):
        cache = cache_gb_s
        if isinstance(cache, Mapping):
            if cpus not in cache:
                raise OptionError(f"cache_gb_s has no bandwidth for {cpus} CPUs; add one")
            cache = cache[cpus]
        _positive("cache_gb_s", cache)
        fetching = [_fetch(m, dataset_gb, storage_mb_s, cache) for m in sizes]
        rows.append(tuple(max(full, seconds) for seconds in fetching))
    return SensitivityMatrix(tuple(sorted(measured)), tuple(sizes), tuple(rows))


def best_case(matrix: SensitivityMatrix, tolerance: float = 0) -> Demand:
    """Return the least CPUs, then the least memory, whose time is within a tolerance of the best.

    Synergy's best-case demand (section 3.2): the least CPUs and memory that saturate throughput.
    T is within the tolerance if T <= (1 + tolerance) x the least T of the matrix **(D)**, as in
    `profile_cpus`.

    Raises
    ------
    OptionError
        If the tolerance is negative.
    """
    fastest = min(map(min, matrix.seconds))
    limit = (1 + at_least_zero("tolerance", tolerance)) * fastest
    points = itertools.product(matrix.cpus, matrix.memory)
    demands = (Demand(c, m, matrix.at(c, m)) for c, m in points)
    return next(demand for demand in demands if demand.seconds <= limit)


def sensitivity_profile(
    matrix: SensitivityMatrix, gpus: int, cpus_per_gpu: float, memory_per_gpu: float
) -> JsonObject:
    """Return the matrix as an entry of ``profiles`` of a sensitivity instance.

    Axes are per GPU. Throughputs are relative to that at the proportional share, as in Synergy's
    published profiles, and rounded to 12 decimals.

    Parameters
    ----------
    gpus
        GPUs of the job.
    cpus_per_gpu, memory_per_gpu
        The proportional share: a server's CPUs and memory (GB) divided by its GPUs.

    Raises
    ------
    OptionError
        If `gpus` is no whole number from 1.
    InstanceError
        If the proportional share is not on the axes, where the problem needs it.
    """
    gpus = whole_from_one("gpus", gpus)
    cpus = cpus_per_gpu * gpus
    memory = memory_per_gpu * gpus
    for name, share, axis in (("cpus", cpus, matrix.cpus), ("memory", memory, matrix.memory)):
        if share not in axis:
            problem = f"lacks {share:g}, the proportional share of {gpus} GPUs"
            raise InstanceError("matrix", name, problem, "add it to the axis")
    share_seconds = matrix.at(cpus, memory)
    kept = [m > 0 for m in matrix.memory]  # the problem has no job without memory
    throughput = []
    for row in matrix.seconds:
        seconds = itertools.compress(row, kept)
        throughput.append([round(share_seconds / t, _DIGITS) for t in seconds])
    return {
        "gpus": gpus,
        "cpus": [_whole(c / gpus) for c in matrix.cpus],
        "memory": [_whole(m / gpus) for m in itertools.compress(matrix.memory, kept)],
        "throughput": throughput,
    }


def _fetch(memory: float, dataset: float, storage: float, cache: float) -> float:
    """Return the seconds to read the data set once: hits from memory, the rest from storage."""
    hits = min(1.0, memory / dataset)
    from_cache = hits * dataset / cache
    from_storage = (1 - hits) * MB_PER_GB * dataset / storage
    return from_cache + from_storage


def _positive(name: str, value: object) -> None:
    number = as_number(value)
    if number is None or not 0 < number < math.inf:
        raise OptionError(f"{name}={value!r} must be above 0")


def _whole(value: float) -> int | float:
    return int(value) if float(value).is_integer() else value
