"""``dlsched prove``: a proof that a solution is optimal, or of a bound, as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dlsched import api
from dlsched.cli.exits import Exit
from dlsched.cli.flags import InstanceName, Json, Variant
from dlsched.cli.output import put_json, put_line, put_table
from dlsched.cli.progress import say
from dlsched.cli.settings import named_after, target
from dlsched.proofs.bounds import write_bound
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
    bound: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE",
            help="Prove that no solution is better than this at the first level, instead.",
        ),
    ] = None,
    variant: Variant = None,
    as_json: Json = False,
) -> None:
    """Prove that a solution is optimal, and write the proof; `check-proof` needs no solver."""
    if output is not None:
        target(output, ".json", ".json.gz")
    say(Stage.LOADING, instance)
    inst = api.load(instance)
    ending = ".proof.json.gz" if bound is None else ".bound.json.gz"
    file = output or named_after(inst.name, ending)[0]
    try:
        if bound is None:
            proof = api.prove(inst, solution, time_limit=limit, variant=variant)
            levels = list(proof.levels)
            write_proof(proof, file)
        else:
            bound_proof = api.prove_bound(inst, bound, solution, time_limit=limit, variant=variant)
            levels = [bound_proof.proof]
            write_bound(bound_proof, file)
    except ProofFailed as error:
        if as_json:
            put_json({"instance": inst.name, "proved": False, "reason": str(error)})
        else:
            put_line(f"no proof: {error}")
        raise typer.Exit(Exit.NEGATIVE) from None
    if as_json:
        rows = [
            {"level": p.level, "target": str(p.target), "kind": p.kind, "nodes": len(p.nodes)}
            for p in levels
        ]
        put_json({"instance": inst.name, "proved": True, "file": str(file), "levels": rows})
        return
    what, flag = ("optimum>", "") if bound is None else ("bound>", "--bound ")
    flag += f"--variant {variant} " if variant else ""
    put_table(
        ["level", what, "kind", "nodes>"],
        ([p.level, p.target, p.kind, len(p.nodes)] for p in levels),
    )
    put_line(f"proof written to {file}; check it: dlsched check-proof {flag}{instance} {file}")
