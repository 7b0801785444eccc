"""Measured throughputs (JSON, as Gavel published them) as rates of utility instances."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dlsched.errors import InstanceError
from dlsched.problems.utility.definition.schema import Instance
from dlsched.problems.utility.instances.generate import KINDS, MODELS_OF, NAMES, generate

GROUPS: Mapping[str, str] = {NAMES[m]: size for size, models in MODELS_OF.items() for m in models}
"""Prefixes of the jobs' names in Gavel's files, and the model's size in Hadar's Tables III, IV."""


def read_throughputs(path: str | Path) -> dict[str, list[dict[str, float]]]:
    """Read measured iterations per second, by type, of jobs of one worker.

    The file is a list of ``{"job_type", "scale_factor", "iterations_per_second": {"v100": ...}}``.
    Types on which a job was not measured are left out, and so are jobs without any.

    Returns
    -------
    dict
        Those of all jobs under ``""``, and by the size of their model (`GROUPS`).

    Raises
    ------
    InstanceError
        If the file does not have this form, or has no job of one worker.
    """
    where = str(path)
    names = {kind.lower(): kind for kind in KINDS}
    found: dict[str, list[dict[str, float]]] = {size: [] for size in ["", *sorted(GROUPS.values())]}
    try:
        for row in json.loads(Path(path).read_bytes()):
            size = next((g for name, g in GROUPS.items() if row["job_type"].startswith(name)), "")
            measured = row["iterations_per_second"] if row["scale_factor"] == 1 else {}
            rates = {names[k]: float(r) for k, r in measured.items() if r and k in names}
            for group in {"", size} if rates else ():
                found[group].append(rates)
    except OSError as error:
        raise InstanceError(where, "", "cannot be read", str(error)) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"is no list of throughputs ({type(error).__name__}: {error})"
        raise InstanceError(where, "", problem, "see docs/problems/utility.md") from None
    if not found[""]:
        raise InstanceError(where, "", "has no job of 1 workers", "use another number")
    return found


def from_throughputs(path: str | Path, *, seed: int = 0, **options: Any) -> Instance:
    """Generate an instance whose jobs have measured rates; options as of the generator.

    The rates are those measured with one worker, for gangs of any size (Gavel's files have few
    others), of a model of the job's size group where the file has one.
    """
    made = generate(np.random.default_rng(seed), rates=read_throughputs(path), **options)
    name = f"utility-measured-{len(made.jobs)}x{made.slots}-{seed}"
    return made.model_copy(update={"name": name, "source": f"{Path(path).name}, seed {seed}"})
