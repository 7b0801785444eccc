"""`frontier` on three library instances: every nondominated point of two levels, drawn as well."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import dlsched


def points(instance: str, levels: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield an instance's points, with the processor seconds of all, building included."""
    began = time.process_time()
    found = dlsched.frontier(instance, tuple(levels))
    spent = time.process_time() - began
    for row in found.itertuples(index=False):
        first, second = (f"{value:.15g}" for value in row[:2])
        yield {levels[0]: first, levels[1]: second, "status": str(row[2]), "s of all": spent}
