"""The Pyomo model of an instance, its levels as LP and MPS files, their proofs as VIPR files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from dlsched import registry
from dlsched.api.loading import InstanceLike, load
from dlsched.api.proving import ProofLike, vipr_texts
from dlsched.errors import InstanceError, OptionError, spelled
from dlsched.schema.files import validate_target, write_bytes
from dlsched.solvers.model_text import lp_text, mps_text
from dlsched.solvers.standard_form import compile_model
from dlsched.variants import VariantLike, owner_of

_MODEL_FORMATS = {"lp": lp_text, "mps": mps_text}
ExportFormat: TypeAlias = Literal["lp", "mps", "vipr"]


def model(instance: InstanceLike, *, variant: VariantLike = None) -> Any:
    """Return the instance's Pyomo model, with one objective per level, all of them active.

    With a variant it is the whole model, which states what a solution is in both directions, with
    the variant's changes.
    """
    inst = load(instance)
    return owner_of(inst, variant).module("model").build(inst)


def export(
    instance: InstanceLike,
    path: str | Path,
    *,
    level: str | None = None,
    held: Mapping[str, float] | None = None,
    built: Any = None,
    proof: ProofLike | None = None,
    format: ExportFormat | None = None,
    variant: VariantLike = None,
) -> None:
    """Write one level of an instance as a file for other programs.

    Formats ``"lp"`` and ``"mps"`` are the level's model, for any solver; ``"vipr"`` is the proof of
    its bound as a certificate, for the public checkers of that format.

    Parameters
    ----------
    path
        ``.lp``, ``.mps`` or ``.vipr``, each also with ``.gz``.
    level
        Name of the level to optimise, or whose bound is proved; the first by default.
    held
        For models: ``{level name: value}`` for every earlier level, the value that it must keep.
    built
        For models: the one to write; `model` of the instance by default.
    proof
        For certificates: a proof or its file; by default the library's, if the instance is in it.
    format
        By default what `path` ends in, and MPS if that is something else.
    variant
        The change of the problem; a model's file says its name and digest.

    Raises
    ------
    OptionError
        If there is no such level or format, an earlier level has no value, or the certificate would
        be too large.
    InstanceError
        If a constraint is violated whatever the variables are, so that there is no model; or if
        there is no proof.
    InvalidProof
        If the proof does not hold.
    """
    validate_target(Path(path))
    if format is None:
        format = format_of(Path(path).name)
    if format == "vipr":
        inst = load(instance)
        first = owner_of(inst, variant).levels[0].name
        [text] = vipr_texts(inst, proof, level=level or first, variant=variant).values()
    else:
        text = model_text(instance, format, level=level, held=held, built=built, variant=variant)
    write_bytes(Path(path), text.encode())


def format_of(name: str) -> ExportFormat:
    """Return the format that a file's name says."""
    plain = name.removesuffix(".gz")
    return "lp" if plain.endswith(".lp") else "vipr" if plain.endswith(".vipr") else "mps"


def model_text(
    instance: InstanceLike,
    format: Literal["lp", "mps"],
    *,
    level: str | None = None,
    held: Mapping[str, float] | None = None,
    built: Any = None,
    variant: VariantLike = None,
) -> str:
    """Return what `export` writes."""
    if format not in _MODEL_FORMATS:
        raise OptionError(f"format={spelled(format)} is unknown; write one of: lp, mps, vipr")
    inst = load(instance)
    levels = [entry.name for entry in owner_of(inst, variant).levels]
    target = level or levels[0]
    if target not in levels:
        raise OptionError(f"{inst.problem} has no level {target!r}; it has: {', '.join(levels)}")
    rank = levels.index(target)
    missing = [name for name in levels[:rank] if name not in (held or {})]
    if missing:
        raise OptionError(f"level {target!r} needs the value of {missing[0]!r}: pass it in held=")
    holds = [float((held or {})[name]) for name in levels[:rank]]
    try:
        label = owner_of(inst, variant).label
        ending = f"-{label.name}-{label.sha256 or 'unknown':.8}" if label else ""
        form = compile_model(built or model(inst, variant=variant)).in_units_of_variables()
        for i, value in enumerate(holds):
            form = form.held(i, value)  # by a row hold_<level>
        return _MODEL_FORMATS[format](inst.name + ending, form, rank)
    except Exception as error:
        why = registry.problem(inst.problem).explain(inst)
        if not why:
            raise
        problem = f"has no solution, and a model that cannot be written: {why}"
        raise InstanceError(inst.name, "", problem, "see: dlsched solve") from error
