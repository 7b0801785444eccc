"""Sia's jobs: models with their goodput, and the authors' workloads."""

import csv
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from dlsched.errors import InstanceError
from dlsched.problems.configurations.instances.generate import NODES
from dlsched.problems.configurations.instances.profiles import PROFILES, goodput
from dlsched.records.trace import Trace

COLUMNS: Final = ("name", "time", "application", "num_replicas", "batch_size")
"""Columns of a workload of the authors."""
SLOWER: Final = {"cifar10": Fraction("1.8")}
"""By how much the authors' simulator makes jobs slower than their profiles; others by 1.2."""
NOISE: Final = {
    "bert": (496.4, 496.4, 752.3, 1562, 1562),
    "cifar10": (11.61, 59.47, 133.3, 494, 956.5),
    "deepspeech2": (10.57, 157.8, 487.8, 758, 725.2),
    "imagenet": (32.53, 79.82, 202.1, 407.5, 857),
    "yolov3": (28.32, 53.88, 74.51, 125.6, 230.6),
}
"""In fifths of the training, fitted to the profiles' iterations at all batch sizes: of no size do
they need 4 % more or fewer than recorded. Those in `PROFILES` are of single epochs."""
MOST_GPUS: Final = 64
"""Of a job, as in the authors' configurations."""


def sia(
    rows: list[dict[str, Any]], *, rigid: bool = False
) -> tuple[list[dict[str, Any]], Mapping[str, Any]]:
    """Give each job the goodput of its model, by Sia's public profiles.

    A job trains as many samples as its model needs, more slowly than profiled, as in the authors'
    simulator. It may have from one GPU to 64, and `Job.work` is its time on one of the first type.
    The profiles have types ``t4``, ``rtx`` and ``a100``.

    Parameters
    ----------
    rigid
        Whether jobs keep the GPUs and the batch size that they were submitted with, for policies
        that know no goodput. Such a job has `Job.rates`, with as many GPUs of a server of its type
        as in Sia's cluster.

    Raises
    ------
    InstanceError
        If a job's model has no profile, or it cannot run with its batch size.
    """
    return [row | _fields(row, rigid) for row in rows], {}


def _fields(row: Mapping[str, Any], rigid: bool) -> dict[str, Any]:
    where, name = f"job {row['id']}", row["model"]
    if name not in PROFILES:
        known = ", ".join(PROFILES)
        raise InstanceError(where, "model", f"{name!r} has no profile", f"use one of: {known}")
    profile = {**PROFILES[name], "noise": NOISE[name]}
    needs = profile["samples"] * SLOWER.get(name, Fraction("1.2"))
    fields = {"restart": profile["restart_seconds"], "gpu_types": list(NODES)}
    if rigid:
        return fields | _rigid(row, profile, needs, where)
    reference, parts = next(iter(NODES)), range(len(profile["noise"]))
    rates = [Fraction(f"{goodput(profile, reference, p, 1, 1):.6g}") for p in parts]
    most = min(MOST_GPUS, profile["largest_batch"] // profile["least_local"])
    kept = ("first_batch", "largest_batch", "least_local", "noise", "types")
    return fields | {
        "gpus": 1,
        "min_gpus": 1,
        "max_gpus": most,
        "gpu_type": reference,
        "work": _microseconds(sum(needs / len(rates) / rate for rate in rates)),
        "goodput": {key: profile[key] for key in kept},
    }


def _rigid(
    row: Mapping[str, Any], profile: Mapping[str, Any], needs: Fraction, where: str
) -> dict[str, Any]:
    """Return the fields of a job whose GPUs and batch size stay as they are."""
    gpus, batch = row["gpus"], row["batch_size"] or profile["first_batch"]
    fixed = {**profile, "first_batch": batch, "largest_batch": batch}
    rates = {}
    for kind, (_, whole) in NODES.items():
        samples = goodput(fixed, kind, 0, -(-gpus // whole), gpus)
        if samples:
            rates[kind] = Fraction(f"{samples / batch:.6g}")
    if not rates or batch < profile["first_batch"]:
        problem = f"{batch} cannot be trained on {gpus} GPUs"
        raise InstanceError(where, "batch_size", problem, "give another batch size")
    scale = Fraction(batch, profile["first_batch"])
    # Samples per sample that counts in full: one over the efficiency, in the mean of the parts.
    worth = [(n + scale) / (n + 1) for n in map(Fraction, map(str, profile["noise"]))]
    iterations = needs * sum(worth) / len(worth) / batch
    reference = next(iter(rates))
    return {
        "gpu_type": reference,
        "gpu_types": list(rates),
        "rates": rates,
        "work": _microseconds(iterations / rates[reference]),
    }


def _microseconds(seconds: Fraction | int) -> Fraction:
    return Fraction(round(seconds * 10**6), 10**6)


def read_sia_workload(path: str | Path, **_options: Any) -> Trace | None:
    """Return a workload in the authors' format; None if the file has another one.

    Raises
    ------
    InstanceError
        If a row cannot be used, naming it.
    """
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error):
        return None
    if not lines or tuple(lines[0]) != COLUMNS:
        return None
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        where = f"{path}: row {number}"
        if len(line) != len(COLUMNS):
            raise InstanceError(where, "", "has not five columns", f"write {','.join(COLUMNS)}")
        name, time, model, gpus, batch = line
        values = {"submit": time, "gpus": gpus, "batch_size": batch}
        read = {key: _number(value, where, key) for key, value in values.items()}
        rows.append(read | {"id": name, "model": model, "duration": 0})
    return Trace.parse({"name": Path(path).stem, "jobs": rows}, str(path))


def _number(text: str, where: str, name: str) -> float:
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise InstanceError(where, name, f"{text!r} is no number", "write a number") from None
