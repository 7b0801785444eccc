"""Random sensitivity instances with the paper's mixes, and examples worked out by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.sensitivity.definition.schema import Instance

Key = TypeVar("Key")


@dataclass(frozen=True)
class Published:
    """What the authors' public profiles have in common; CPUs and GB are per GPU."""

    cpus: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 9, 12, 24)
    memory: tuple[float, ...] = (20.83, 62.5, 125, 187.5, 250)
    fair: tuple[int, float] = (3, 62.5)
    """CPUs and GB of the paper's servers (section 5.1)."""
    required: float = 62.5
    """GB below which image and speech models run at `too_little`; language models run at full speed
    with 20 GB, the memory of the process (section 2.1)."""
    too_little: float = 0.1
    """Speed with too little memory, relative to `fair`."""


PUBLISHED = Published()


class Curve(NamedTuple):
    """What an epoch of a model takes with CPUs and memory."""

    cpus: float
    """CPUs per GPU from which more do not help."""
    gain: float
    """The speed with these over that with 3, with the data set in memory."""
    dataset: float = 62.5
    """GB per GPU that hold the data set."""
    storage: float = 1.0
    """The time to read all of it from storage, of an epoch with 3 CPUs as the unit."""
    overlaps: bool = True
    """Whether an epoch takes the longer of reading and preprocessing (section 3.1), or the sum."""


MODELS: Mapping[str, Mapping[str, Curve]] = {
    "image": {
        "alexnet": Curve(12, 3.1, 125),
        "resnet18": Curve(9, 2.3),
        "shufflenet": Curve(12, 2.9, 125),
        "mobilenet": Curve(6, 1.55),
        "resnet50": Curve(4, 1.15),
    },
    "language": {name: Curve(1, 1, 0, 0) for name in ("gnmt", "transformer", "lstm")},
    "speech": {"m5": Curve(6, 2, 187.5, 0.375, overlaps=False), "deepspeech": Curve(3, 1)},
}
"""The models of Synergy's Table 4.

Section 2.1 and Figure 2 print the gains of AlexNet and ResNet18. The other numbers are ours, fitted
to the best cases of the authors' public profiles. These are not concave: M5 gains more from its
sixth CPU per GPU than from the first five. Section 2.1 speeds up ResNet18 by memory on another data
set than that of Table 4.
"""
HEAD: Mapping[str, Any] = {"dlsched": 1, "problem": "sensitivity"}
"""What every document of an instance begins with."""
MULTI: Mapping[int, float] = {1: 0.70, 2: 0.10, 4: 0.15, 8: 0.05}
"""Share of the jobs with each number of GPUs in a workload of several sizes, as in the authors'
public code where it runs without a trace. The paper, and that code with Philly's log, take the
sizes from there, up to 16 GPUs."""


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
    servers
        Number of servers; 16 and 64 in the simulations of section 5.1, 4 in the testbed.
    gpus
        GPUs on each server (section 5.1).
    cpus_per_gpu
        CPUs per GPU of a server: 3 in section 5.1, 4 to 6 in section 5.5.
    memory
        GB of a server, 500 in section 5.1; the share of a GPU must be on the profiles' axis.
    split
        Weights of image, language and speech models, as percentages of the jobs (section 5.1);
        20/70/10 in section 5.3, 60/30/10 and 30/60/10 in Table 5.
    multi
        Whether jobs have 1, 2, 4 or 8 GPUs, with the weights of the authors' public code; else one.
    allow_split
        Whether a job may be on more than one server (section 4.2).
    distinct
        Whether every job has a profile of its own, up to 20 % different from its model's (ours).
    utilization
        GPUs of all jobs divided by those of the cluster; above 1 only with `may_wait`.
    may_wait
        Whether jobs may wait, as with GREEDY, DRF and Tetris (sections 3.3 and 5.7).

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
        name, curve = _drawn_model(rng, weights)
        most = min(free, gpus) if multi else 1
        size = weighted(rng, {g: share for g, share in MULTI.items() if g <= most})
        free -= size
        label = f"{name}_{size}"
        if distinct:
            label = f"{label}_{len(rows) + 1}"
            curve = _varied(rng, curve)
        if label not in profiles:
            profiles[label] = profile_of(size, curve, fair)
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


def _drawn_model(rng: np.random.Generator, weights: Mapping[str, float]) -> tuple[str, Curve]:
    """Draw a model, its class by the weights."""
    models = MODELS[weighted(rng, weights)]
    name = list(models)[int(rng.integers(len(models)))]
    return name, models[name]


def weighted(rng: np.random.Generator, weights: Mapping[Key, float]) -> Key:
    """Draw a key, with probabilities in proportion to the weights."""
    chances = np.array(list(weights.values()))
    return list(weights)[int(rng.choice(len(weights), p=chances / chances.sum()))]


def cluster(servers: int, gpus: int, cpus_per_gpu: int, memory: float) -> dict[str, Any]:
    """Return ``servers`` of an instance; the memory is that of a server."""
    return {"count": servers, "gpus": gpus, "cpus": gpus * cpus_per_gpu, "memory": memory}


def read_split(split: str | Sequence[float]) -> tuple[float, ...]:
    """Return the weights of image, language and speech jobs; `OptionError` if they are none."""
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
    if cpus not in PUBLISHED.cpus or memory not in PUBLISHED.memory:
        raise OptionError(
            f"a GPU's share {share} must be on the axes {PUBLISHED.cpus} and {PUBLISHED.memory}"
        )


def profile_of(gpus: int, curve: Curve, fair: tuple[float, float]) -> dict[str, Any]:
    """Return a profile, relative to the proportional share and rounded to three decimals.

    It is the same per GPU with any number of GPUs, as in the authors' public code.
    """
    base = _speed(curve, *fair)
    table = [
        [round(_speed(curve, c, m) / base, 3) for m in PUBLISHED.memory] for c in PUBLISHED.cpus
    ]
    return {"gpus": gpus, "cpus": PUBLISHED.cpus, "memory": PUBLISHED.memory, "throughput": table}


def _speed(curve: Curve, cpus: float, memory: float) -> float:
    """Return the speed, of that with 3 CPUs and the data set in memory as the unit.

    It is concave in the CPUs: proportional up to 3 or `Curve.cpus`, then linear to `Curve.gain`.
    """
    if curve.storage and memory < PUBLISHED.required:
        return min(
            PUBLISHED.too_little * _speed(curve, *PUBLISHED.fair),
            _speed(curve, cpus, PUBLISHED.required),
        )
    knees = sorted((PUBLISHED.fair[0], curve.cpus))
    preprocessing = 1 / min(cpus / knees[0], float(np.interp(cpus, knees, (1, curve.gain))))
    reading = curve.storage * max(0.0, 1 - memory / curve.dataset) if curve.storage else 0.0
    return 1 / (max(preprocessing, reading) if curve.overlaps else preprocessing + reading)


def _varied(rng: np.random.Generator, curve: Curve) -> Curve:
    """Return a curve with up to 20 % more or less of each number (ours)."""
    numbers = (curve.cpus, curve.gain - 1, curve.dataset, curve.storage)
    cpus, gain, dataset, storage = (np.array(numbers) * (0.8 + 0.4 * rng.random(4))).tolist()
    return Curve(cpus, 1 + gain, dataset, storage, curve.overlaps)


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
