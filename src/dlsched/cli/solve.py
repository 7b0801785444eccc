"""``dlsched solve``: one instance, one method."""

from __future__ import annotations

from pathlib import Path

from typer import Option

from dlsched import api
from dlsched.cli.options import InstanceName, Limits, Output, Variant, offered
from dlsched.cli.output import Answer, put_line, stdout_for_answers
from dlsched.cli.progress import hide, point, say
from dlsched.cli.settings import settings, target
from dlsched.cli.verdict import exit_status, put_result
from dlsched.errors import OptionError
from dlsched.proofs.document import write_proof
from dlsched.run import Stage
from dlsched.variants import VariantProblem, owner_of


def solve(
    *,
    instance: InstanceName,
    method: str = Option(
        "exact",
        "--method",
        "-m",
        metavar="METHOD",
        help="A method, or MODULE:FUNCTION.",
        autocompletion=offered("methods"),
    ),
    option: list[str] = Option([], metavar="K=V", help="An option of the method; repeatable."),
    limits: Limits,
    solver_option: list[str] = Option(
        [], metavar="K=V", help="Of the solver, by its own names; repeatable."
    ),
    start: str | None = Option(None, metavar="FILE", help="A solution to start from."),
    variant: Variant = None,
    output: Output = None,
    certify: bool = Option(False, "--certify", help="Prove the optimum, and check the proof."),
    proof: Path | None = Option(None, metavar="FILE", help="For the proof; implies --certify."),
    log: bool = Option(False, "--log", help="Show the solver's log on stderr."),
) -> Answer:
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
    options = settings(option, chosen.options, method)
    names = {pair.partition("=")[0]: None for pair in solver_option}
    passed = settings(solver_option, names, limits.solver)
    if log:
        hide()
    with stdout_for_answers():
        result = api.solve(
            inst,
            chosen,
            **vars(limits),
            solver_options=passed,
            start=start,
            variant=owner if isinstance(owner, VariantProblem) else None,
            log=log,
            certify=certify or proof is not None,
            on_progress=None if log else point,
            **options,
        )
    written = []
    if output is not None and result.solution is not None:
        api.save(result.solution, output)
        written.append(f"solution written to {output}")
    if proof is not None and result.proof is not None:
        write_proof(result.proof, proof)
        check = f"dlsched check-proof {instance} {proof}"
        written.append(f"proof written to {proof}; check it: {check}")

    def put() -> None:
        put_result(result)
        for line in written:
            put_line(line)

    return Answer(result.to_data(), put, exit_status(result))
