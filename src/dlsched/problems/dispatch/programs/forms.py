"""Forms for proofs beside the model: the program of `classes`, which counts tasks on machines."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dlsched.problems.dispatch.definition.check import LEVELS
from dlsched.problems.dispatch.definition.schema import Instance
from dlsched.problems.dispatch.programs.block_program import Counts
from dlsched.problems.dispatch.programs.loads import Weights
from dlsched.problems.dispatch.structures.blocks import Block, Shape, coarsest
from dlsched.proofs.forms.compiled import form_of
from dlsched.proofs.forms.form import Form
from dlsched.proofs.forms.parameters import require_keys, wholes

_HEAVIEST = 2**40


def counts(instance: Instance, parameters: Mapping[str, Any]) -> Form:
    """Return the program `Counts`, which is a relaxation whatever the parameters are.

    Parameters
    ----------
    parameters
        ``racks``: whether no block has machines of several racks, which the last level needs.
        ``cuts``: weights of tasks, of which no machine can have more than what is computed here.
        ``blocks``: optional, machines by block, where equal machines had to be told apart.
    """
    require_keys("counts", parameters, (), ("racks", "cuts", "blocks"))
    batch = coarsest(instance)
    if parameters.get("racks"):
        batch = batch.divided_by_rack()
    if "blocks" in parameters:
        batch = batch._replace(blocks=_divided(batch.blocks, parameters["blocks"]))
    stated = parameters.get("cuts", [])
    if not isinstance(stated, list):
        raise ValueError("cuts of the form counts must be a list")
    form = Counts(batch, [_weights(cut) for cut in stated]).form()
    return form_of("counts", replace(form, level_names=tuple(level.name for level in LEVELS)))


FORMS = {"counts": counts}


def _divided(blocks: Sequence[Block], wanted: object) -> list[Block]:
    """Return blocks of the machines that are wanted; each must have equal machines."""
    if not isinstance(wanted, list) or not all(row and wholes(row) for row in wanted):
        raise ValueError("blocks of the form counts must be lists of integers")
    block_of = {(block.site, m): block for block in blocks for m in block.machines}
    parts: list[Block] = []
    for site, *machines in wanted:
        whole = [block_of.pop((site, m), None) for m in machines]
        if not whole or whole[0] is None or any(block is not whole[0] for block in whole):
            raise ValueError("a block of the form counts has machines that are not alike")
        parts.append(whole[0]._replace(machines=tuple(machines)))
    if block_of:
        raise ValueError("the blocks of the form counts lack machines")
    return parts


def _weights(cut: object) -> Weights:
    """Return the weights of a cut: lists of GPU type and three amounts of a shape, and its weight.

    `loads.capacity` considers loads to which no task of the last shape can be added, and adds up
    weights by shape. So its result holds if no weight is negative, and no shape is there twice.
    """
    if not isinstance(cut, list) or not all(wholes(row) and len(row) == 5 for row in cut):
        raise ValueError("a cut of the form counts must be lists of a shape and its weight")
    weights = {Shape(kind, (a, b, c)): part for kind, a, b, c, part in cut}
    if len(weights) < len(cut) or not all(0 <= part <= _HEAVIEST for part in weights.values()):
        raise ValueError("a cut of the form counts needs weights from 0 of distinct shapes")
    return tuple(weights.items())
