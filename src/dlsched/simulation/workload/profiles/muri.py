"""Muri's jobs: stages as the trace records them, and restart overheads by model and GPUs."""

from bisect import bisect_left
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dlsched.errors import OptionError
from dlsched.problems.interleaving.instances.state import RECORDED, split
from dlsched.problems.interleaving.structures.profiles import RESOURCES

SIZES = (1, 2, 4, 8, 16, 32)
RESTART: Mapping[str, tuple[int, ...]] = {
    "vgg16": (7, 7, 8, 9, 9, 10),
    "vgg19": (7, 7, 8, 9, 10, 10),
    "resnet18": (4, 5, 5, 7, 7, 7),
    "shufflenet_v2_x1_0": (4, 4, 5, 5, 7, 8),
    "bert": (10, 10, 10, 10, 10, 10),
    "gpt2": (10, 10, 10, 10, 10, 10),
    "a2c": (38, 39, 39, 46, 46, 46),
    "dqn": (5, 5, 6, 6, 8, 8),
}
"""Seconds to restart a job with 1, 2, 4, 8, 16 and 32 GPUs, as in the authors' public code."""
OTHER = 10
"""Seconds to restart a job of a model that is not in the table."""


def muri(
    rows: list[dict[str, Any]], resources: int = 4
) -> tuple[list[dict[str, Any]], Mapping[str, Any]]:
    """Add the seconds of a restart, and split the first stage into storage and CPU.

    The paper has four resources and groups of up to four jobs (section 4.2); the traces record
    three stages, loading and preprocessing together. With ``resources=3`` they stay as recorded, as
    the authors' public simulator (the variant ``"published"``) has them. A number of GPUs between
    two of the table counts as the larger one.

    Raises
    ------
    OptionError
        If neither three nor four resources are asked for.
    """
    if resources not in (len(RECORDED), len(RESOURCES)):
        known = f"{len(RECORDED)}, as recorded, nor {len(RESOURCES)}"
        raise OptionError(f"resources={resources!r} is neither {known}")
    for row in rows:
        row["restart"] = restart(row["model"], row["gpus"])
        if resources == len(RESOURCES) and len(row["stages"]) == len(RECORDED):
            times = split([1000 * stage for stage in row["stages"]], row["model"])
            row["stages"] = tuple(Fraction(time, 1000) for time in times)
    return rows, {}


def restart(model: str | None, gpus: int) -> int:
    """Return the seconds that a job of a model needs to restart on a number of GPUs."""
    times = RESTART.get(model or "")
    return OTHER if times is None else times[min(bisect_left(SIZES, gpus), len(SIZES) - 1)]
