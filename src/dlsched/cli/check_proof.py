"""``dlsched check-proof``: check a proof of optimality without a solver."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dlsched import api
from dlsched.cli.exits import Exit
from dlsched.cli.flags import InstanceName, Json
from dlsched.cli.output import put_json, put_line, put_table
from dlsched.cli.progress import say
from dlsched.objective import number_to_data
from dlsched.proofs.check import InvalidProof
from dlsched.run import Stage


def check_proof(
    instance: InstanceName,
    proof: Annotated[
        Path | None,
        typer.Argument(
            metavar="PROOF", show_default=False, help="Its file; by default the library's."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check in integers that a proof's solution is optimal; no solver is involved."""
    say(Stage.CHECKING, f"the proof of {instance}")
    try:
        checked = api.check_proof(instance, proof)
    except InvalidProof as error:
        if as_json:
            put_json({"valid": False, "reason": str(error)})
        else:
            put_line(f"invalid: {error}")
        raise typer.Exit(Exit.NEGATIVE) from None
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
