"""Measured profiles (JSON) as sensitivity instances."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dlsched.errors import InstanceError
from dlsched.problems.sensitivity.definition.schema import Instance
from dlsched.problems.sensitivity.instances.generate import HEAD, cluster, read_split, weighted
from dlsched.schema import Number, exact
from dlsched.schema.files import read_json

CLASSES = ("image", "lang", "speech")
MULTI = {1: 0.7, 2: 0.15, 4: 0.15}
"""Weights of the numbers of GPUs in a multi-GPU mix (ours); files have few larger jobs."""


class Measured(NamedTuple):
    """A row of a file: a model that has a class, with a number of GPUs."""

    place: int
    """Position of the model among the file's classes, the authors' order."""
    kind: str
    seconds: Number | None
    """Seconds per iteration at the proportional share, which traces of iterations need."""
    profile: dict[str, Any]
    """As in an instance; rows of zeros are dropped, with their CPUs, other zeros are kept."""


def read_profiles(path: str | Path, cpus_per_gpu: int = 3) -> dict[str, Measured]:
    """Read a file of measured profiles; `InstanceError` if it has none for this number of CPUs."""
    try:
        data = read_json(Path(path))
        sets = {int(s["fair_cpu_per_gpu"]): s["models"] for s in data["sets"].values()}
        if cpus_per_gpu in sets:
            return dict(_measured(data["axes"], data["class_of"], sets[cpus_per_gpu]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InstanceError):
            raise
        problem = f"is no file of measured profiles ({type(error).__name__}: {error})"
        raise InstanceError(str(path), "", problem, "see docs/problems/sensitivity.md") from None
    remedy = f"use one of {sorted(sets)} CPUs per GPU"
    raise InstanceError(str(path), "sets", f"has none for {cpus_per_gpu}", remedy)


def _measured(axes: Any, kinds: Any, entries: Any) -> Iterator[tuple[str, Measured]]:
    """Yield the profiles of models that have a class, by name."""
    places = {model: i for i, model in enumerate(kinds)}
    for name, entry in entries.items():
        kind = kinds.get(entry["model"])
        if kind not in CLASSES:
            continue
        table = entry["tput"]
        rows = [(c, row) for c, row in zip(axes["cpu_per_gpu"], table, strict=True) if any(row)]
        profile = {
            "gpus": entry["gpus"],
            "cpus": [c for c, _ in rows],
            "memory": axes[f"mem_gb_per_gpu_9x{len(table[0])}"],
            "throughput": [row for _, row in rows],
        }
        seconds = entry.get("iter_time_s_at_fair")
        timed = None if seconds is None else exact(seconds)
        yield name, Measured(places[entry["model"]], kind, timed, profile)


def from_profiles(
    path: str | Path,
    *,
    servers: int = 16,
    split: Sequence[float] = (20, 70, 10),
    multi: bool = False,
    allow_split: bool = True,
    may_wait: bool = False,
    cpus_per_gpu: int = 3,
    memory: float = 500,
    gpus: int = 8,
    seed: int = 0,
    name: str | None = None,
) -> Instance:
    """Draw jobs of measured models until they need all GPUs of a cluster.

    Parameters
    ----------
    split
        Weights of image, language and speech jobs, as in the paper: (20, 70, 10), (30, 60, 10).
    multi
        Jobs of 1, 2 and 4 GPUs; else of one.
    may_wait
        Whether jobs may wait; else all of them must be placed.
    cpus_per_gpu
        CPUs per GPU of a server; the file must have a set of profiles for it.

    Raises
    ------
    InstanceError
        As `read_profiles`.
    OptionError
        If `split` is not three weights.
    """
    measured = read_profiles(path, cpus_per_gpu)
    rng = np.random.default_rng(seed)
    weights = read_split(split)
    of = defaultdict[tuple[str, int], list[str]](list)
    for model, row in measured.items():
        of[row.kind, row.profile["gpus"]].append(model)
    free = servers * gpus
    rows: list[dict[str, str]] = []
    used: set[str] = set()
    while free:
        kind = weighted(rng, dict(zip(CLASSES, weights, strict=True)))
        most = free if multi else 1
        size = weighted(rng, {g: share for g, share in MULTI.items() if g <= most})
        names = of[kind, size] or of[kind, 1]
        chosen = names[int(rng.integers(len(names)))]
        used.add(chosen)
        free -= measured[chosen].profile["gpus"]
        rows.append({"id": f"j{len(rows) + 1}", "profile": chosen})
    mix = "-".join(f"{w:g}" for w in weights)
    label = f"sensitivity-{servers}-{mix}-{'multi' if multi else 'single'}"
    data = {
        **HEAD,
        "name": name or label,
        "source": f"{Path(path).name}, seed {seed}",
        "servers": cluster(servers, gpus, cpus_per_gpu, memory),
        "allow_split": allow_split,
        "may_wait": may_wait,
        "profiles": {name: row.profile for name, row in measured.items() if name in used},
        "jobs": rows,
    }
    return Instance.parse(data, str(path))
