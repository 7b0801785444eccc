"""Models with their profiles and iteration times, and which of them the next job trains."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from dlsched.errors import OptionError
from dlsched.problems.sensitivity.instances.from_profiles import read_iteration_times, read_profiles
from dlsched.problems.sensitivity.instances.generate import (
    MODELS,
    profile_of,
    read_split,
    require_on_axes,
)
from dlsched.schema import Number

CLASSES = tuple(MODELS)
"""The classes of models (Synergy, Table 4), in the order in which a split names them."""
_NAMES = {"lang": "language"}


class Model(NamedTuple):
    """A model that jobs train.

    Attributes
    ----------
    kind
        Its class, one of `CLASSES`.
    seconds
        Seconds per iteration at the proportional share.
    profile
        ``cpus``, ``memory`` and ``throughput`` per GPU, as in an instance, of a job with one GPU.
    """

    name: str
    kind: str
    seconds: Number
    profile: Mapping[str, Any]


def synthetic_models(cpus_per_gpu: int = 3, memory_per_gpu: float = 62.5) -> dict[str, Model]:
    """Return the models of the random instances, an iteration of each taking one second **(D)**.

    Raises
    ------
    OptionError
        If the share of a GPU is not on the axes of their profiles.
    """
    share = (cpus_per_gpu, memory_per_gpu)
    require_on_axes(share)
    return {
        name: Model(name, kind, 1, _per_gpu(profile_of(1, curve, share)))
        for kind, models in MODELS.items()
        for name, curve in models.items()
    }


def measured_models(path: str | Path, cpus_per_gpu: int = 3) -> dict[str, Model]:
    """Return the models of a file of measured profiles that have a class, by their 1-GPU profiles.

    As in the authors' public code, jobs with more GPUs have the same profile per GPU, and models
    of a class take turns in the order of the file's ``class_of``.

    Raises
    ------
    InstanceError
        If the file has another form, or no set for this number of CPUs per GPU.
    """
    profiles, kinds = read_profiles(path, cpus_per_gpu)
    times = read_iteration_times(path, cpus_per_gpu)
    return {
        model: Model(
            model, _NAMES.get(kinds[name], kinds[name]), times[name], _per_gpu(profiles[name])
        )
        for name, model in ((name, name.removesuffix("_1")) for name in times)
        if name in profiles and profiles[name]["gpus"] == 1
    }


def _per_gpu(profile: Mapping[str, Any]) -> dict[str, Any]:
    """Return a profile without the GPUs of a job."""
    return {key: value for key, value in profile.items() if key != "gpus"}


class Assignment:
    """Gives each job its model, so that the classes have their shares of the jobs.

    The next job is of the class whose share of the jobs so far is furthest below the split's, of
    equals the first in `CLASSES`; its models take turns. As in the authors' public code, whose
    floating-point arithmetic decides ties.

    Parameters
    ----------
    models
        By name; those of a class take turns in this order.
    split
        Weights of the classes, as ``"20/70/10"``.

    Raises
    ------
    OptionError
        If `split` has another form, or gives a weight to a class without models.
    """

    def __init__(self, models: Iterable[Model], split: str | Sequence[float]) -> None:
        weights = read_split(split)
        self.shares = [weight / sum(weights) for weight in weights]
        known = list(models)
        self.turns = [[model for model in known if model.kind == kind] for kind in CLASSES]
        for kind, share, turns in zip(CLASSES, self.shares, self.turns, strict=True):
            if share and not turns:
                raise OptionError(f"split={split!r} has {kind} jobs, but no model is of that class")
        self.counts = [0] * len(CLASSES)

    def next(self) -> Model:
        """Return the model of the next job."""
        total = sum(self.counts)
        missing = [
            (share - count / total if total else 0.0) if share else -1.0
            for share, count in zip(self.shares, self.counts, strict=True)
        ]
        k = missing.index(max(missing))
        model = self.turns[k][self.counts[k] % len(self.turns[k])]
        self.counts[k] += 1
        return model


def iterations(seconds: Number, model: Model) -> int:
    """Return the whole iterations of a running time at the proportional share, at least one."""
    return max(1, int(Fraction(seconds) / model.seconds))
