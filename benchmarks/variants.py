"""Variants: what the whole model costs, and rules beyond its sizes; processor seconds."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runs import Row

import dlsched


def _tenant(job: str) -> int:
    """Return the tenant of a job, by its number."""
    return int("".join(filter(str.isdigit, job))) % 4


RULES = {
    "interleaving": lambda inst, a, b: (_tenant(a.id) == 0) == (_tenant(b.id) == 0),
    "sensitivity": lambda inst, held: sum(_tenant(job) == 0 for job in held) <= 3,
    "utility": lambda inst, job, slot, speed: slot >= 4 or _tenant(job.id) != 0,
    "dispatch": lambda inst, work, job, group: _tenant(work.id) != 0 or group.machines.rack > 1,
}
"""What the sections of rules say of one tenant of four."""


def solved(name: str, instance: Any, method: str, variant: Any, limit: float) -> Row:
    """Return the outcome as columns that begin with a name; a size that is refused is no error."""
    began = time.process_time()
    try:
        result = dlsched.solve(instance, method, variant=variant, time_limit=limit)
    except dlsched.DlschedError as error:
        return {name: f"refused: {error}".partition(";")[0]}
    row: Row = {name: str(result.status), f"{name}, s": time.process_time() - began}
    if result.objective is not None:
        row[f"{name}, value"] = ", ".join(f"{float(value):.6g}" for value in result.objective)
    return row


def compared(
    problem: str, kind: str, sizes: Sequence[Mapping[str, Any]], limit: float
) -> Iterator[Row]:
    """Yield a variant beside the model without it; the first size is solved once before."""
    rule = {"allow": RULES[problem]} if kind == "rule" else {}
    variant = dlsched.Variant(problem, kind, **rule)
    for number, size in enumerate((sizes[0], *sizes)):
        said = ", ".join(f"{name} {value}" for name, value in size.items()) or "as generated"
        row: Row = {"problem": problem, "size": said}
        made: Any = (
            dlsched.load(size["instance"])
            if "instance" in size
            else dlsched.generate(problem, 1, **size)
        )
        row |= solved("without", made, "exact" if rule else "milp", None, limit)
        row |= solved("with", made, "exact", variant, limit)
        if rule and problem != "sensitivity":
            row |= solved("whole model", made, "whole_model", variant, limit)
        if number:
            yield row


def nothing(sizes: Mapping[str, Sequence[Mapping[str, Any]]], limit: float) -> Iterator[Row]:
    """Yield variants that add nothing beside the declarative models."""
    for problem, several in sizes.items():
        yield from compared(problem, "nothing", several, limit)
