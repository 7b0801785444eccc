"""What Synergy prints of its models, its splits and its cluster; its authors' best cases."""

from functools import cache, partial
from itertools import pairwise
from statistics import fmean
from typing import Any

from marginal import Marginal, percent

import dlsched

LANGUAGE = ("gnmt", "transformer", "lstm")
SPEECH = ("m5", "deepspeech")
PROFILES = "the authors' public profiles"
BEST = {
    "alexnet": (12, 125, 2.94),
    "resnet18": (9, 62.5, 2.4),
    "shufflenet": (12, 125, 2.89),
    "mobilenet": (6, 62.5, 1.55),
    "resnet50": (4, 62.5, 1.15),
    "m5": (6, 187.5, 2.5),
    "deepspeech": (3, 62.5, 1),
}
"""CPUs, GB and speed of the best case in the authors' profiles, per GPU, of a job with one."""
CASE = {"CPUs per GPU": "cpus", "GB per GPU": "memory", "speed": "throughput"}


@cache
def drawn(seed: int, **options: Any) -> Any:
    """Draw the jobs of one round in the paper's larger cluster, so that all models are there."""
    return dlsched.generate("sensitivity", seed, servers=64, **options)


def model(job: Any) -> str:
    """Return the name of a job's model."""
    return str(job.profile).partition("_")[0]


def speed(instance: Any, name: str, cpus: float, memory: float) -> float:
    """Return the speed of a job with one GPU, of that with the proportional share as the unit."""
    profile = instance.profiles[f"{name}_1"]
    row = list(map(float, profile.cpus)).index(cpus)
    column = list(map(float, profile.memory)).index(memory)
    return float(profile.throughput[row][column])


def gain(name: str, cpus: int, instance: Any) -> float:
    """Speed with more CPUs over that with 3, in 250 GB."""
    return speed(instance, name, cpus, 250) / speed(instance, name, 3, 250)


def language_cpus(instance: Any) -> float:
    """Most CPUs per GPU that a language model needs for its full speed."""
    return max(float(instance.best_cases[f"{name}_1"].cpus) for name in LANGUAGE)


def gnmt_with_little(instance: Any) -> float:
    """Speed of GNMT with 20 GB, of that with 250."""
    return speed(instance, "gnmt", 3, 20.83) / speed(instance, "gnmt", 3, 250)


def too_little(instance: Any) -> float:
    """Mean speed of image and speech models with 20 GB and 3 CPUs."""
    return fmean(speed(instance, name, 3, 20.83) for name in BEST)


def one_gpu_profiles(instance: Any) -> list[Any]:
    """Return the profiles of jobs with one GPU."""
    return [p for name, p in instance.profiles.items() if name.endswith("_1")]


def is_concave(profile: Any) -> bool:
    """Whether the speed is concave in the CPUs with any memory; speeds have three decimals."""
    for column in zip(*profile.throughput, strict=True):
        points = list(zip(profile.cpus, map(float, column), strict=True))
        slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(points)]
        if any(after > before + 2e-3 for before, after in pairwise(slopes)):
            return False
    return True


def best(name: str, what: str, instance: Any) -> float:
    """CPUs or memory per GPU, or speed, of the best case of a model's jobs with one GPU."""
    return float(getattr(instance.best_cases[f"{name}_1"], what))


def gap(instance: Any) -> float:
    """Per cent that TUNE as in the authors' code is below the bound of OPT's first stage."""
    found = dlsched.solve(instance, "tune_public")
    bound: Any = dlsched.solve(instance, "pooled").bound
    return 100 * (1 - float(found.objective.throughput) / float(bound[0].value))


def near(
    name: str, printed: float, tolerance: float, source: str, measure: Any, **options: Any
) -> Marginal:
    """Return a marginal with a band of a part of the printed number around it."""
    low, high = printed * (1 - tolerance), printed * (1 + tolerance)
    return Marginal(name, printed, low, high, source, partial(drawn, **options), measure)


MARGINALS = [
    near("AlexNet, speed with 12 CPUs over 3", 3.1, 0.02, "section 2.1, Figure 2",
         partial(gain, "alexnet", 12)),
    near("ResNet18, speed with 9 CPUs over 3", 2.3, 0.02, "section 2.1, Figure 2",
         partial(gain, "resnet18", 9)),
    near("language models, most CPUs needed", 1, 0, "Figure 2", language_cpus),
    near("GNMT, speed with 20 GB over 250", 1, 0.001, "section 2.1", gnmt_with_little),
    near("image and speech models, speed with 20 GB over the share", 0.1, 0.01, PROFILES,
         too_little),
    near("models with concave speed by CPUs, % (our reading)", 100, 0, "Figure 2",
         percent(is_concave, one_gpu_profiles)),
    *(
        near(f"best case of {name}, {what}", number, 0.1, PROFILES, partial(best, name, field))
        for name, printed in BEST.items()
        for (what, field), number in zip(CASE.items(), printed, strict=True)
    ),
    near("language jobs, %", 70, 0.04, "section 5.3", percent(lambda j: model(j) in LANGUAGE)),
    near("speech jobs, %", 10, 0.15, "section 5.3", percent(lambda j: model(j) in SPEECH)),
    near("multi: jobs with one GPU, %", 70, 0.05, "the authors' public code",
         percent(lambda job: job.profile.endswith("_1")), multi=True),
    Marginal("TUNE of the public code below OPT, 128 GPUs, at most, %", 10, 0, 10, "section 5.6",
             partial(dlsched.generate, "sensitivity"), gap),
]  # fmt: skip
