"""``dlsched solve``: one instance, one method; ``dlsched compare``: several, side by side."""

from pathlib import Path

from typer import Argument, Option

from dlsched import api
from dlsched.api.comparing import as_comparison, comparison
from dlsched.api.solving import validate_limits
from dlsched.cli.options import INSTANCE_HELP, InstanceName, Limits, Output, Variant, offered
from dlsched.cli.output import Answer, put_line, stdout_for_answers, written
from dlsched.cli.progress import count, hide, point, say
from dlsched.cli.settings import settings, target
from dlsched.cli.verdict import exit_status, put_comparison, status_of
from dlsched.display.drawing.files import FORMATS
from dlsched.display.table import Failure, data_frame
from dlsched.errors import OptionError
from dlsched.proofs.document import write_proof
from dlsched.results.result import Result, Termination
from dlsched.run import Stage
from dlsched.solvers.backend import find_backend
from dlsched.variants import VariantProblem, owner_of

TABLES = (".csv", ".json", ".tex")  # endings of files


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
        for line in (*result.summary().splitlines(), *written):
            put_line(line, indent=4)

    return Answer(result.to_data(), put, exit_status(result))


def compare(
    *,
    instances: list[str] = Argument(
        metavar="INSTANCE...", help=INSTANCE_HELP, autocompletion=offered("instances", "files")
    ),
    method: list[str] = Option(
        ...,
        "--method",
        "-m",
        metavar="METHOD",
        help="A method, or MODULE:FUNCTION; repeatable.",
        autocompletion=offered("methods"),
    ),
    limits: Limits,
    jobs: int = Option(1, "--jobs", "-j", metavar="N", min=1, help="Runs at a time."),
    variant: Variant = None,
    output: list[Path] = Option(
        [],
        "--output",
        "-o",
        metavar="FILE",
        help="All runs as .csv or .json, the summary as .tex, the profile of the gaps as .pdf, "
        ".pgf, .svg or .png; repeatable.",
    ),
) -> Answer:
    """Solve every instance with every method; gap_to_best is to the best bound known."""
    for file in output:
        target(file, *TABLES, *(f".{form}" for form in FORMATS))
    loaded = []
    for name in instances:
        say(Stage.LOADING, name)
        loaded.append(api.load(name))
    for inst in loaded:
        for name in method:
            owner_of(inst, variant).resolve(name, inst)
    validate_limits(limits.time_limit, limits.gap, limits.threads, limits.solver)
    find_backend(limits.solver)
    pairs = [(inst.name, name) for inst in loaded for name in method]
    waiting = iter(enumerate(pairs))

    def begin() -> None:
        done, (inst, name) = next(waiting, (len(pairs), ("", "")))
        count(done, len(pairs), f"{inst} {name}")

    def note(answer: Result | Failure) -> None:
        if isinstance(answer, Result) and answer.termination is Termination.INTERRUPTED:
            raise KeyboardInterrupt
        begin()

    with stdout_for_answers():
        begin()
        shown = {"on_progress": point} if jobs == 1 else {}
        rows = comparison(
            loaded, method, on_answer=note, jobs=jobs, variant=variant, **shown, **vars(limits)
        )
    for file in sorted(output, key=lambda file: file.suffix not in TABLES):  # runs before pictures
        say(Stage.BUILDING, str(file))
        table = as_comparison(data_frame(rows))
        api.save(table if file.suffix in TABLES else table.profile(style="paper"), file)

    def put() -> None:
        put_comparison(rows)
        written(output).put()

    return Answer(rows, put, status_of(rows))
