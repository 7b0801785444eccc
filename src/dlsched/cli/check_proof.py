"""``dlsched check-proof``: check a proof of optimality, or of a bound, without a solver."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dlsched import api
from dlsched.cli.exits import Exit
from dlsched.cli.flags import InstanceName, Json, Variant
from dlsched.cli.output import put_json, put_line, put_table
from dlsched.cli.progress import say
from dlsched.proofs.bounds import CheckedBound
from dlsched.proofs.check import InvalidProof
from dlsched.results.objective import number_to_data
from dlsched.results.proof import KINDS
from dlsched.run import Stage
from dlsched.text.figures import display


def check_proof(
    instance: InstanceName,
    proof: Annotated[
        Path | None,
        typer.Argument(
            metavar="PROOF", show_default=False, help="Its file; by default the library's."
        ),
    ] = None,
    bound: Annotated[
        bool, typer.Option("--bound", help="The proof is one of `prove --bound`.")
    ] = False,
    variant: Variant = None,
    as_json: Json = False,
) -> None:
    """Check in integers that a proof's solution is optimal; no solver is involved."""
    say(Stage.CHECKING, f"the proof of {instance}")
    try:
        if bound:
            checked_bound = api.check_bound(instance, proof, variant=variant)
        else:
            checked = api.check_proof(instance, proof, variant=variant)
    except InvalidProof as error:
        if as_json:
            put_json({"valid": False, "reason": str(error)})
        else:
            put_line(f"invalid: {error}")
        raise typer.Exit(Exit.NEGATIVE) from None
    if bound:
        _put_bound(checked_bound, as_json)
        return
    if as_json:
        levels = [
            {"level": c.level, "kind": c.kind, "leaves": c.leaves} | number_to_data(c.value)
            for c in checked.levels
        ]
        put_json({"valid": True, "instance": checked.instance, "levels": levels})
        return
    put_line(f"valid: the proof's solution of {checked.instance} is optimal")
    put_table(
        ["level", "optimum>", "kind", "leaves>"],
        ([c.level, c.value, c.kind, c.leaves] for c in checked.levels),
    )


def _put_bound(found: CheckedBound, as_json: bool) -> None:
    if as_json:
        value = number_to_data(found.value)
        level = {"level": found.level, "kind": KINDS[0], "leaves": found.leaves} | value
        put_json({"valid": True, "instance": found.instance, "bound": level})
        return
    put_line(
        f"valid: no solution of {found.instance} has a better {found.level} than "
        f"{display(found.value)}"
    )
