"""The Pyomo model of an instance, and its levels as LP and MPS files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from dlsched import registry
from dlsched.api.loading import InstanceLike, load
from dlsched.errors import InstanceError, OptionError
from dlsched.files import validate_target, write_bytes
from dlsched.solvers.lp import lp_text
from dlsched.solvers.mps import mps_text

_MODEL_FORMATS = {"lp": lp_text, "mps": mps_text}


def model(instance: InstanceLike) -> Any:
    """Return the instance's Pyomo model, with one objective per level, all of them active."""
    inst = load(instance)
    return registry.problem(inst.problem).module("model").build(inst)


def export(
    instance: InstanceLike,
    path: str | Path,
    *,
    level: str | None = None,
    held: Mapping[str, float] | None = None,
    built: Any = None,
    format: Literal["lp", "mps"] | None = None,
) -> None:
    """Write one level of an instance's model as an LP or MPS file, for any solver.

    Parameters
    ----------
    instance
        Anything that `load` takes.
    path
        ``.lp``, ``.lp.gz``, ``.mps`` or ``.mps.gz``.
    level
        Name of the level to optimise; the first by default.
    held
        ``{level name: value}`` for every earlier level: the value that it must keep.
    built
        The model to write; `model` of the instance by default.
    format
        ``"lp"`` or ``"mps"``; by default LP if `path` ends in ``.lp`` or ``.lp.gz``, else MPS.

    Raises
    ------
    OptionError
        If there is no such level or format, or an earlier level has no value.
    InstanceError
        If a constraint is violated whatever the variables are, so that there is no model.
    """
    validate_target(Path(path))
    if format is None:
        format = "lp" if Path(path).name.endswith((".lp", ".lp.gz")) else "mps"
    text = model_text(instance, format, level=level, held=held, built=built)
    write_bytes(Path(path), text.encode())


def model_text(
    instance: InstanceLike,
    format: Literal["lp", "mps"],
    *,
    level: str | None = None,
    held: Mapping[str, float] | None = None,
    built: Any = None,
) -> str:
    """Return what `export` writes."""
    if format not in _MODEL_FORMATS:
        raise OptionError(f"format={format!r:.40} is unknown; write one of: lp, mps")
    inst = load(instance)
    levels = [entry.name for entry in registry.problem(inst.problem).levels]
    target = level or levels[0]
    if target not in levels:
        raise OptionError(f"{inst.problem} has no level {target!r}; it has: {', '.join(levels)}")
    rank = levels.index(target)
    missing = [name for name in levels[:rank] if name not in (held or {})]
    if missing:
        raise OptionError(f"level {target!r} needs the value of {missing[0]!r}: pass it in held=")
    holds = [float((held or {})[name]) for name in levels[:rank]]
    try:
        return _MODEL_FORMATS[format](inst.name, built or model(inst), rank, holds)
    except Exception as error:
        why = registry.problem(inst.problem).explain(inst)
        if not why:
            raise
        problem = f"has no solution, and a model that cannot be written: {why}"
        raise InstanceError(inst.name, "", problem, "see: dlsched solve") from error
