"""``dlsched check-proof``: check a proof of optimality, or of a bound, without a solver."""

from __future__ import annotations

from pathlib import Path

import typer

from dlsched import api
from dlsched.cli.exits import Exit
from dlsched.cli.options import InstanceName, Variant
from dlsched.cli.output import Answer, put_line
from dlsched.cli.progress import say
from dlsched.cli.tables import put_table
from dlsched.proofs.bounds import CheckedBound
from dlsched.proofs.check import InvalidProof
from dlsched.results.objective import number_to_data
from dlsched.results.proof import KINDS
from dlsched.run import Stage
from dlsched.text.figures import display


def check_proof(
    *,
    instance: InstanceName,
    proof: Path | None = typer.Argument(
        None, metavar="PROOF", show_default=False, help="Its file; by default the library's."
    ),
    bound: bool = typer.Option(False, "--bound", help="The proof is one of `prove --bound`."),
    variant: Variant = None,
) -> Answer:
    """Check in integers that a proof's solution is optimal; no solver is involved."""
    say(Stage.CHECKING, f"the proof of {instance}")
    try:
        if bound:
            return _of_bound(api.check_bound(instance, proof, variant=variant))
        checked = api.check_proof(instance, proof, variant=variant)
    except InvalidProof as error:
        said = str(error)
        data = {"valid": False, "reason": said}
        return Answer(data, lambda: put_line(f"invalid: {said}"), Exit.NEGATIVE)
    levels = [
        {"level": c.level, "kind": c.kind, "leaves": c.leaves} | number_to_data(c.value)
        for c in checked.levels
    ]

    def put() -> None:
        put_line(f"valid: the proof's solution of {checked.instance} is optimal")
        put_table(
            ["level", "optimum>", "kind", "leaves>"],
            ([c.level, c.value, c.kind, c.leaves] for c in checked.levels),
        )

    return Answer({"valid": True, "instance": checked.instance, "levels": levels}, put)


def _of_bound(found: CheckedBound) -> Answer:
    value = number_to_data(found.value)
    level = {"level": found.level, "kind": KINDS[0], "leaves": found.leaves} | value
    better = f"a better {found.level} than {display(found.value)}"
    return Answer(
        {"valid": True, "instance": found.instance, "bound": level},
        lambda: put_line(f"valid: no solution of {found.instance} has {better}"),
    )
