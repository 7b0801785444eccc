"""Synergy's jobs: models with their profiles, and the authors' traces."""

import csv
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from dlsched.errors import InstanceError
from dlsched.problems.sensitivity.instances.job_models import (
    Assignment,
    Model,
    iterations,
    models_of,
)
from dlsched.records.job import TraceJob
from dlsched.records.trace import Trace

COLUMNS = ("id", "model", "arrival", "iterations", "gpus")
"""Columns of a trace of the authors; their own files have no header."""


def synergy(
    rows: list[dict[str, Any]],
    *,
    measured: str | Path | None = None,
    split: str | Sequence[float] = "20/70/10",
    cpus_per_gpu: int = 3,
    memory_per_gpu: float = 62.5,
) -> tuple[list[dict[str, Any]], Mapping[str, Any]]:
    """Give each job a model, and the workload the models' matrices of throughput.

    A job keeps its model if all jobs name models that have a profile. Otherwise they all get one by
    the split, see `dlsched.problems.sensitivity.instances.job_models.Assignment`, and as many
    iterations as fit their running time at the proportional share (section 5.1).

    Parameters
    ----------
    measured
        Path of a file of measured profiles; by default the profiles are synthetic, with a second
        per iteration.
    split
        Weights of image, language and speech models.
    cpus_per_gpu, memory_per_gpu
        CPUs and GB per GPU of the servers, whose share counts as proportional. A file of measured
        profiles has a set for each number of CPUs per GPU, with its own iteration times.

    Raises
    ------
    InstanceError, OptionError
        If the file or an option cannot be used.
    """
    models = models_of(measured, cpus_per_gpu, memory_per_gpu)
    recorded = all(row["model"] in models and row["iterations"] for row in rows)
    turns = Assignment(models.values(), split)
    profiled = []
    for row in rows:
        model = models[row["model"]] if recorded else turns.next()
        count = row["iterations"] if recorded else iterations(row["work"], model)
        # A matrix says how a job runs with less than it asked for.
        profiled.append(row | job_fields(model, count) | {"server_cpus": 0, "server_memory": 0})
    share = (cpus_per_gpu, memory_per_gpu)
    used = sorted({row["profile"] for row in profiled})
    return profiled, {"matrices": {name: {**models[name].profile, "share": share} for name in used}}


def job_fields(model: Model, count: int) -> dict[str, Any]:
    """Return what a model and a number of iterations say of a job."""
    return {
        "model": model.name,
        "profile": model.name,
        "iterations": count,
        "iteration_time": model.seconds,
        "work": count * Fraction(model.seconds),
    }


def read_synergy_trace(
    path: str | Path,
    *,
    measured: str | Path | None = None,
    cpus_per_gpu: int = 3,
    memory_per_gpu: float = 62.5,
    **_options: Any,
) -> Trace | None:
    """Return a trace in the authors' format, with running times by its models' profiles.

    Returns
    -------
    Trace or None
        None if the file has another format.

    Raises
    ------
    InstanceError
        If the file is of this format and a row cannot be used, naming it.
    """
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error):
        return None
    header = tuple(lines[0]) == COLUMNS if lines else False
    if not lines or not (header or _is_job(lines[0])):
        return None
    models = models_of(measured, cpus_per_gpu, memory_per_gpu)
    jobs = [
        _job(row, models, f"{path}: row {number}")
        for number, row in enumerate(lines[header:], start=1 + header)
    ]
    return Trace(
        name=Path(path).stem,
        jobs=tuple(jobs),
        source=f"{Path(path).name}, a trace of Synergy's authors",
    )


def _is_job(row: Sequence[str]) -> bool:
    return len(row) == len(COLUMNS) and row[0].isdigit() and row[3].isdigit() and row[4].isdigit()


def _job(row: Sequence[str], models: Mapping[str, Model], where: str) -> TraceJob:
    if not _is_job(row):
        raise InstanceError(where, "", "is no job", f"write {','.join(COLUMNS)}")
    name, model, arrival, count, gpus = row
    if model not in models:
        known = ", ".join(models)
        raise InstanceError(where, "model", f"{model!r} has no profile", f"use one of: {known}")
    try:
        submit = Fraction(arrival)
    except (ValueError, ZeroDivisionError):
        raise InstanceError(where, "arrival", f"{arrival!r} is no time", "write seconds") from None
    fields = job_fields(models[model], int(count))
    data = {
        "id": name,
        "gpus": int(gpus),
        "submit": submit,
        "duration": fields["work"],
        "iterations": int(count),
        "iteration_time": fields["iteration_time"],
        "model": model,
    }
    return TraceJob.parse(data, where)
