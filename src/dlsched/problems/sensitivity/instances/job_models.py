"""Models with their profiles and iteration times, and which of them the next job trains."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from dlsched.errors import InstanceError, OptionError
from dlsched.problems.sensitivity.instances.from_profiles import read_profiles
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
    """A model that jobs train."""

    name: str
    kind: str
    """Its class, one of `CLASSES`."""
    seconds: Number
    """Seconds per iteration at the proportional share."""
    profile: Mapping[str, Any]
    """``cpus``, ``memory`` and ``throughput`` per GPU, as in an instance, of a job with one GPU."""


def models_of(
    measured: str | Path | None, cpus_per_gpu: int = 3, memory_per_gpu: float = 62.5
) -> dict[str, Model]:
    """Return the models of a file of measured profiles, or else those of the random instances.

    Of a file those that have a class, by their 1-GPU profiles: as in the authors' public code, jobs
    with more GPUs have the same profile per GPU, and models of a class take turns in the order of
    the file's ``class_of``. An iteration of a random instance's model takes one second **(D)**.
    The share of a GPU must be on the axes of the profiles.
    """
    models = {}
    if measured is not None:
        rows = read_profiles(measured, cpus_per_gpu)
        for name, row in sorted(rows.items(), key=lambda entry: entry[1].place):
            if row.profile["gpus"] == 1:
                if row.seconds is None:
                    where, remedy = f"{name}.iter_time_s_at_fair", "write seconds per iteration"
                    raise InstanceError(str(measured), where, "is missing", remedy)
                model = name.removesuffix("_1")
                kind = _NAMES.get(row.kind, row.kind)
                models[model] = Model(model, kind, row.seconds, _per_gpu(row.profile))
        return models
    share = (cpus_per_gpu, memory_per_gpu)
    require_on_axes(share)
    for kind, curves in MODELS.items():
        for name, curve in curves.items():
            models[name] = Model(name, kind, 1, _per_gpu(profile_of(1, curve, share)))
    return models


def _per_gpu(profile: Mapping[str, Any]) -> dict[str, Any]:
    """Return a profile without the GPUs of a job."""
    return {key: value for key, value in profile.items() if key != "gpus"}


class Assignment:
    """Gives each job its model, so that the classes have their shares of the jobs.

    The next job is of the class whose share of the jobs so far is furthest below the split's, of
    equals the first in `CLASSES`; its models take turns, in the order given. As in the authors'
    public code, whose floating-point arithmetic decides ties. `OptionError` if the split, as
    ``"20/70/10"``, gives a weight to a class without models.
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
