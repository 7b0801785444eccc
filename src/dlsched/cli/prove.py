"""``dlsched prove``: a proof that a solution is optimal, as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dlsched import api
from dlsched.cli.exits import Exit
from dlsched.cli.flags import InstanceName, Json
from dlsched.cli.output import put_json, put_line, put_table
from dlsched.cli.progress import say
from dlsched.cli.settings import named_after, target
from dlsched.proofs.document import write_proof
from dlsched.proofs.prove import ProofFailed
from dlsched.run import Stage


def prove(
    instance: InstanceName,
    solution: Annotated[
        str | None,
        typer.Option(
            "--solution",
            metavar="FILE",
            help="What to prove optimal; by default the library's best known, else `exact`'s.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="By default NAME.proof.json.gz."),
    ] = None,
    limit: Annotated[
        float | None,
        typer.Option("--limit", "--time-limit", metavar="S", help="Wall-clock seconds."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Prove that a solution is optimal, and write the proof; `check-proof` needs no solver."""
    if output is not None:
        target(output, ".json", ".json.gz")
    say(Stage.LOADING, instance)
    inst = api.load(instance)
    file = output or named_after(inst.name, ".proof.json.gz")[0]
    try:
        proof = api.prove(inst, solution, time_limit=limit)
    except ProofFailed as error:
        if as_json:
            put_json({"instance": inst.name, "proved": False, "reason": str(error)})
        else:
            put_line(f"no proof: {error}")
        raise typer.Exit(Exit.NEGATIVE) from None
    write_proof(proof, file)
    if as_json:
        levels = [
            {"level": p.level, "target": str(p.target), "kind": p.kind, "nodes": len(p.nodes)}
            for p in proof.levels
        ]
        put_json({"instance": inst.name, "proved": True, "file": str(file), "levels": levels})
        return
    put_table(
        ["level", "optimum>", "kind", "nodes>"],
        ([p.level, p.target, p.kind, len(p.nodes)] for p in proof.levels),
    )
    put_line(f"proof written to {file}; check it: dlsched check-proof {instance} {file}")
