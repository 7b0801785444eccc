"""Small instances of sensitivity."""

from collections.abc import Sequence
from typing import Any

from dlsched.problems.sensitivity import Instance

PAIR: dict[str, Any] = {
    "one": {"gpus": 1, "cpus": [1, 2, 3], "memory": [2, 4],
            "throughput": [[0.5, 0.75], [1, 1.25], [0, 1.5]]},
    "two": {"gpus": 2, "cpus": [1, 2], "memory": [2], "throughput": [[1], [1]]},
}  # fmt: skip
"""Two profiles; not every choice of the first one was measured."""


def profile(gpus: int, cpus: Any, memory: Any, throughput: Any) -> dict[str, Any]:
    """Return a profile's fields."""
    return {"gpus": gpus, "cpus": cpus, "memory": memory, "throughput": throughput}


def by_cpus(*throughputs: Any, gpus: int = 1) -> dict[str, Any]:
    """Return a profile of 1 GB for each GPU, with the throughputs at 1, 2 and more CPUs."""
    return profile(gpus, [*range(1, len(throughputs) + 1)], [1], [[t] for t in throughputs])


def instance(
    servers: Sequence[Any], profiles: dict[str, Any], jobs: Sequence[str], **more: Any
) -> Instance:
    """Return an instance: (count, GPUs, CPUs, memory), profiles, and the jobs' profiles."""
    shape = dict(zip(("count", "gpus", "cpus", "memory"), servers, strict=True))
    rows = [{"id": f"j{i}", "profile": name} for i, name in enumerate(jobs)]
    return Instance(**{"name": "made", "jobs": rows, "servers": shape, "profiles": profiles} | more)


def one_server(gpus: int) -> Instance:
    """Return a server of 3 GPUs and two jobs of so many that run at 5, or wait."""
    profiles = {"p": profile(gpus, [1], [1], [[5]])}
    return instance((1, 3, 3, 3), profiles, "pp", may_wait=True)
