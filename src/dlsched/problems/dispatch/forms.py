"""Forms for proofs beside the model: the program of `classes`, which counts tasks on machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dlsched.forms.compiled import form_of
from dlsched.forms.form import Form
from dlsched.problems.dispatch.blocks import Block, Shape, by_rack, coarsest
from dlsched.problems.dispatch.check import LEVELS
from dlsched.problems.dispatch.counts import Counts
from dlsched.problems.dispatch.hull import Weights
from dlsched.problems.dispatch.schema import Instance


def counts(instance: Instance, parameters: Mapping[str, Any]) -> Form:
    """Return the program `Counts`, which is a relaxation whatever the parameters are.

    Parameters
    ----------
    parameters
        ``racks``: whether no block has machines of several racks, which the last level needs.
        ``cuts``: weights of tasks, of which no machine can have more than what is computed here.
        ``blocks``: optional, machines by block, where equal machines had to be told apart.
    """
    unknown = set(parameters) - {"racks", "cuts", "blocks"}
    if unknown:
        raise ValueError(f"the form counts has no parameter {min(unknown)}")
    fleet, ranking, victims, own = coarsest(instance)
    if parameters.get("racks"):
        own = [part for block in own for part in by_rack(fleet, block)]
    if "blocks" in parameters:
        own = _divided(own, parameters["blocks"])
    cuts = [_weights(cut) for cut in parameters.get("cuts", [])]
    form = Counts(fleet, ranking, victims, own, cuts).form()
    return form_of("counts", replace(form, level_names=tuple(level.name for level in LEVELS)))


FORMS = {"counts": counts}


def _divided(own: Sequence[Block], wanted: Sequence[Sequence[int]]) -> list[Block]:
    """Return blocks of the machines that are wanted; each must have equal machines."""
    at = {(block.site, m): block for block in own for m in block.machines}
    found = []
    for site, *machines in wanted:
        whole = {id(block): block for m in machines for block in [at.pop((site, m), None)]}
        block = next(iter(whole.values()), None)
        if block is None or len(whole) > 1:
            raise ValueError("a block of the form counts has machines that are not alike")
        found.append(block._replace(machines=tuple(machines)))
    if at:
        raise ValueError("the blocks of the form counts lack machines")
    return found


def _weights(cut: Sequence[Sequence[int]]) -> Weights:
    return tuple((Shape(kind, (a, b, c)), part) for kind, a, b, c, part in cut)
