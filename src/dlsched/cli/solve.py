"""``dlsched solve``: one instance, one method."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dlsched import api
from dlsched.cli import flags
from dlsched.cli.exits import put
from dlsched.cli.flags import InstanceName, Json
from dlsched.cli.output import put_line, stdout_for_answers
from dlsched.cli.progress import hide, point, say
from dlsched.cli.settings import settings, target
from dlsched.cli.verdict import exit_status, put_result
from dlsched.errors import OptionError
from dlsched.proofs.document import write_proof
from dlsched.run import Stage
from dlsched.variants import VariantProblem, owner_of


def solve(
    instance: InstanceName,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            metavar="METHOD",
            help="A method, or MODULE:FUNCTION.",
            autocompletion=flags.offered("methods"),
        ),
    ] = "exact",
    time_limit: flags.TimeLimit = None,
    gap: flags.Gap = 0.0,
    threads: flags.Threads = 1,
    seed: flags.Seed = 0,
    solver: flags.Solver = "highs",
    solver_option: Annotated[
        list[str] | None,
        typer.Option(
            "--solver-option", metavar="K=V", help="Of the solver, by its own names; repeatable."
        ),
    ] = None,
    start: Annotated[
        str | None, typer.Option("--start", metavar="FILE", help="A solution to start from.")
    ] = None,
    variant: flags.Variant = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="K=V", help="An option of the method; repeatable."),
    ] = None,
    output: flags.Output = None,
    certify: Annotated[
        bool, typer.Option("--certify", help="Prove the optimum, and check the proof.")
    ] = False,
    proof: Annotated[
        Path | None,
        typer.Option("--proof", metavar="FILE", help="For the proof; implies --certify."),
    ] = None,
    log: Annotated[bool, typer.Option("--log", help="Show the solver's log on stderr.")] = False,
    as_json: Json = False,
) -> None:
    """Solve an instance and check the answer.

    Ctrl-C ends the search; the best solution found so far is shown, and the exit status is 130.
    """
    for file in filter(None, (output, proof)):
        target(file, ".json", ".json.gz")
    if output is not None and proof is not None and output.resolve() == proof.resolve():
        raise OptionError(f"{output} cannot be both --output and --proof; name two files")
    say(Stage.LOADING, instance)
    inst = api.load(instance)
    owner = owner_of(inst, variant)
    chosen = owner.resolve(method, inst)
    options = settings(option or [], chosen.options, method)
    names = {pair.partition("=")[0]: None for pair in solver_option or []}
    passed = settings(solver_option or [], names, solver)
    if log:
        hide()
    with stdout_for_answers():
        result = api.solve(
            inst,
            chosen,
            time_limit=time_limit,
            gap=gap,
            threads=threads,
            seed=seed,
            solver=solver,
            solver_options=passed,
            start=start,
            variant=owner if isinstance(owner, VariantProblem) else None,
            log=log,
            certify=certify or proof is not None,
            on_progress=None if log else point,
            **options,
        )
    if output is not None and result.solution is not None:
        api.save(result.solution, output)
    if proof is not None and result.proof is not None:
        write_proof(result.proof, proof)
    if as_json:
        put(result.to_json() + "\n")
    else:
        put_result(result)
        if output is not None and result.solution is not None:
            put_line(f"solution written to {output}")
        if proof is not None and result.proof is not None:
            put_line(f"proof written to {proof}; check it: dlsched check-proof {instance} {proof}")
    raise typer.Exit(exit_status(result))
