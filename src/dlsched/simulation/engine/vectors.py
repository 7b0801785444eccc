"""Jobs as vectors, and the waiting ones in lines, for policies that decide often."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.int64]


class Arrays(NamedTuple):
    """The waiting and running jobs as vectors, in the order of submission; times in microseconds.

    ``job`` are positions in the workload, ``running`` is 1 for a job that holds GPUs,
    ``remaining`` is what a scheduler knows, as `JobView.remaining`.
    """

    job: Vector
    submit: Vector
    gpus: Vector
    remaining: Vector
    attained: Vector
    service: Vector
    running: Vector


Key: TypeAlias = Callable[[Arrays], Vector]
"""Returns a number for each job."""

Entry: TypeAlias = tuple[Any, int]
"""The key of a job and its position in the workload: ties are in the order of submission."""

LinesByGpus: TypeAlias = Mapping[int, Sequence[Entry]]
"""Jobs that wait: one line, ascending and not empty, for each number of GPUs asked for."""
