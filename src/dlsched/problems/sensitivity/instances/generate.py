"""Random sensitivity instances with the paper's mixes, and examples worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.sensitivity.definition.schema import Instance

Key = TypeVar("Key")
CPUS = (1, 2, 3, 4, 5, 6, 9, 12, 24)
MEMORY = (20.83, 62.5, 125, 187.5, 250)
"""Axes of the published profiles, per GPU; memory in GB."""
MODELS: Mapping[str, Mapping[str, tuple[float, float, float]]] = {
    "image": {
        "alexnet": (12, 125, 0.35),
        "resnet18": (9, 125, 0.40),
        "shufflenet": (12, 62.5, 0.40),
        "mobilenet": (6, 125, 0.30),
        "resnet50": (4, 62.5, 0.15),
    },
    "language": {
        "gnmt": (2, 20.83, 0.0), "transformer": (1, 20.83, 0.0), "lstm": (2, 20.83, 0.0)
    },
    "speech": {"m5": (12, 125, 0.25), "deepspeech": (6, 62.5, 0.10)},
}  # fmt: skip
"""CPUs and GB per GPU of maximal throughput, and the fraction lost without memory.

Image and speech models need many CPUs to preprocess their data and memory to cache it; language
models need little of either (Synergy, section 2.1, Figure 2). The numbers are ours.
"""
HEAD: Mapping[str, Any] = {"dlsched": 1, "problem": "sensitivity"}
"""What every document of an instance begins with."""
MULTI = {1: 0.7, 2: 0.15, 4: 0.1, 8: 0.05}
"""Weights of the numbers of GPUs in a multi-GPU mix; our choice."""


def generate(
    rng: np.random.Generator,
    *,
    servers: int = 16,
    gpus: int = 8,
    cpus_per_gpu: int = 3,
    memory: float = 500,
    split: str = "20/70/10",
    multi: bool = False,
    allow_split: bool = True,
    distinct: bool = False,
    utilization: float = 1.0,
    may_wait: bool = False,
) -> Instance:
    """Draw jobs until they need a given part of a cluster's GPUs.

    Parameters
    ----------
    servers, gpus
        Servers, and GPUs on each.
    cpus_per_gpu
        CPUs per GPU of a server, 3 to 6 in the paper.
    memory
        GB of a server; the share of a GPU must be on the profiles' axis.
    split
        Weights of image, language and speech models, as in the paper's workloads.
    multi
        Whether jobs have 1, 2, 4 or 8 GPUs; else one.
    allow_split
        Whether a job may be on more than one server.
    distinct
        Whether every job has a profile of its own, up to 20 % different from its model's.
    utilization
        GPUs of all jobs divided by those of the cluster; above 1 only with `may_wait`.
    may_wait
        Whether jobs may wait.

    Raises
    ------
    OptionError
        If an option is out of its range.
    """
    weights = dict(zip(MODELS, read_split(split), strict=True))
    highest = 100 if may_wait else 1
    if not 0 < utilization <= highest:
        raise OptionError(f"utilization={utilization} must be above 0, and at most {highest}")
    fair = (cpus_per_gpu, memory / gpus)
    require_on_axes(fair)
    free = int(utilization * servers * gpus)
    profiles: dict[str, dict[str, Any]] = {}
    rows: list[dict[str, str]] = []
    while free:
        kind = weighted(rng, weights)
        names = list(MODELS[kind])
        name = names[int(rng.integers(len(names)))]
        most = min(free, gpus) if multi else 1
        size = weighted(rng, {g: share for g, share in MULTI.items() if g <= most})
        free -= size
        label = f"{name}_{size}" + (f"_{len(rows) + 1}" if distinct else "")
        if label not in profiles:
            noise = 1 + 0.2 * (2 * rng.random(3) - 1) if distinct else np.ones(3)
            knees = tuple((noise * MODELS[kind][name]).tolist())
            profiles[label] = profile_of(size, knees, fair)
        rows.append({"id": f"j{len(rows) + 1}", "profile": label})
    data = {
        **HEAD,
        "name": "unnamed",
        "servers": cluster(servers, gpus, cpus_per_gpu, memory),
        "allow_split": allow_split,
        "may_wait": may_wait,
        "profiles": profiles,
        "jobs": rows,
    }
    return Instance.parse(data, "the generator")


def weighted(rng: np.random.Generator, weights: Mapping[Key, float]) -> Key:
    """Draw a key, with probabilities in proportion to the weights."""
    chances = np.array(list(weights.values()))
    return list(weights)[int(rng.choice(len(weights), p=chances / chances.sum()))]


def cluster(servers: int, gpus: int, cpus_per_gpu: int, memory: float) -> dict[str, Any]:
    """Return ``servers`` of an instance; the memory is that of a server."""
    return {"count": servers, "gpus": gpus, "cpus": gpus * cpus_per_gpu, "memory": memory}


def read_split(split: str | Sequence[float]) -> tuple[float, ...]:
    """Return the weights of image, language and speech jobs of a split as ``"20/70/10"``.

    Raises
    ------
    OptionError
        If it is not three weights, or all are 0.
    """
    try:
        weights = tuple(float(w) for w in (split.split("/") if isinstance(split, str) else split))
    except (TypeError, ValueError):
        weights = ()
    if len(weights) != len(MODELS) or min(weights) < 0 or not sum(weights):
        raise OptionError(f"split={split!r} must be image/language/speech, as 20/70/10")
    return weights


def require_on_axes(share: tuple[float, float]) -> None:
    """Raise `OptionError` unless CPUs and memory of a GPU are on the axes of the profiles."""
    cpus, memory = share
    if cpus not in CPUS or memory not in MEMORY:
        raise OptionError(f"a GPU's share {share} must be on the axes {CPUS} and {MEMORY}")


def profile_of(gpus: int, knees: tuple[float, ...], fair: tuple[float, float]) -> dict[str, Any]:
    """Return a profile, linear in CPUs and in memory up to the knees.

    Relative to the proportional share, rounded to three decimals. More GPUs gain less: the CPU
    term has the exponent 0.95**log2(gpus).
    """
    cpu_knee, memory_knee, loss = knees

    def speed(cpus: float, memory: float) -> float:
        fetch = min(1.0, cpus / cpu_knee)
        cached = 1 - loss * max(0.0, 1 - memory / memory_knee)
        return float(fetch ** (0.95 ** np.log2(gpus)) * cached)

    base = speed(*fair)
    table = [[round(float(speed(c, m) / base), 3) for m in MEMORY] for c in CPUS]
    return {"gpus": gpus, "cpus": CPUS, "memory": MEMORY, "throughput": table}


def examples() -> list[Instance]:
    """Return the example of Synergy's Tables 1 to 3, and one of two servers solved by hand.

    Tables 1 to 3: four jobs of four GPUs each on two servers of 8 GPUs, 24 CPUs and 500 GB; two are
    image or speech models, faster with more CPUs than their share, and two are language models,
    equally fast with a third of it. The paper has no profiles of them; the throughputs are
    assumed.
    """
    sensitive = {
        "gpus": 4, "cpus": [1, 3, 5], "memory": [62.5],
        "throughput": [[0.35], [1], [1.6]],
    }  # fmt: skip
    modest = {"gpus": 4, "cpus": [1, 3, 5], "memory": [62.5], "throughput": [[1], [1], [1]]}
    tables = {
        "name": "synergy-tables",
        "source": "Synergy (OSDI'22), Tables 1 to 3; the throughputs are ours",
        "servers": {"count": 2, "gpus": 8, "cpus": 24, "memory": 500},
        "profiles": {"image": sensitive, "language": modest},
        "jobs": _jobs(j1="image", j2="image", j3="language", j4="language"),
    }
    # Two servers of 2 GPUs, 4 CPUs, 4 GB. a is fastest with 3 CPUs, b with 3 GB; c has two GPUs.
    two = {
        "name": "synergy-two-servers",
        "source": "worked out by hand on the card",
        "servers": {"count": 2, "gpus": 2, "cpus": 4, "memory": 4},
        "profiles": {
            "a": {"gpus": 1, "cpus": [1, 2, 3], "memory": [1, 2],
                  "throughput": [[0, 0.5], [0.9, 1], [1.4, 1.5]]},
            "b": {"gpus": 1, "cpus": [1, 2], "memory": [2, 3],
                  "throughput": [[1, 1.25], [1, 1.25]]},
            "c": {"gpus": 2, "cpus": [1, 2], "memory": [1, 2], "throughput": [[1, 1], [1, 1]]},
        },
        "jobs": _jobs(a="a", b="b", c="c"),
    }  # fmt: skip
    return [Instance.parse({**HEAD, **data}, "the generator") for data in (tables, two)]


def _jobs(**profiles: str) -> list[dict[str, str]]:
    return [{"id": job, "profile": profile} for job, profile in profiles.items()]
