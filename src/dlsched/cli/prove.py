"""``dlsched prove`` and ``check-proof``: that a solution is optimal, or a bound holds."""

from pathlib import Path

from typer import Argument, Option

from dlsched import api
from dlsched.cli.exits import Exit
from dlsched.cli.options import InstanceName, Variant
from dlsched.cli.output import Answer, put_line
from dlsched.cli.progress import say
from dlsched.cli.settings import named_after, target
from dlsched.cli.tables import put_table
from dlsched.proofs.bounds import CheckedBound, write_bound
from dlsched.proofs.check import InvalidProof
from dlsched.proofs.document import write_proof
from dlsched.proofs.prove import ProofFailed
from dlsched.results.objective import number_to_data
from dlsched.results.proof import KINDS
from dlsched.run import Stage
from dlsched.text.figures import display


def prove(
    *,
    instance: InstanceName,
    solution: str | None = Option(
        None,
        metavar="FILE",
        help="What to prove optimal; by default the library's best known, else `exact`'s.",
    ),
    output: Path | None = Option(
        None, "--output", "-o", metavar="FILE", help="By default NAME.proof.json.gz."
    ),
    limit: float | None = Option(
        None, "--limit", "--time-limit", metavar="S", help="Wall-clock seconds."
    ),
    bound: str | None = Option(
        None,
        metavar="VALUE",
        help="Prove that no solution is better than this at the first level, instead.",
    ),
    variant: Variant = None,
) -> Answer:
    """Prove a solution optimal, or that none exists; `check-proof` needs no solver."""
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
        return _refusal("no proof", error, {"instance": inst.name, "proved": False})
    rows = [
        {"level": p.level, "target": p.shown, "kind": p.kind, "nodes": len(p.nodes)} for p in levels
    ]
    what, flags = ("optimum>", "") if bound is None else ("bound>", "--bound ")
    flags += f"--variant {variant} " if variant else ""

    def put() -> None:
        put_table(
            ["level", what, "kind", "nodes>"],
            ([p.level, p.target or p.shown, p.kind, len(p.nodes)] for p in levels),
        )
        put_line(f"proof written to {file}; check it: dlsched check-proof {flags}{instance} {file}")

    return Answer({"instance": inst.name, "proved": True, "file": str(file), "levels": rows}, put)


def check_proof(
    *,
    instance: InstanceName,
    proof: Path | None = Argument(
        None, metavar="PROOF", show_default=False, help="Its file; by default the library's."
    ),
    bound: bool = Option(False, "--bound", help="The proof is one of `prove --bound`."),
    variant: Variant = None,
) -> Answer:
    """Check in integers what a proof proves; no solver is involved."""
    say(Stage.CHECKING, f"the proof of {instance}")
    try:
        if bound:
            return _of_bound(api.check_bound(instance, proof, variant=variant))
        checked = api.check_proof(instance, proof, variant=variant)
    except InvalidProof as error:
        return _refusal("invalid", error, {"valid": False})
    none = "no solution" if checked.levels[0].value is None else ""
    levels = [
        {"level": c.level, "kind": c.kind, "leaves": c.leaves}
        | (number_to_data(c.value) if c.value is not None else {})
        for c in checked.levels
    ]
    optimal = f"the proof's solution of {checked.instance} is optimal"

    def put() -> None:
        put_line(f"valid: {f'{checked.instance} has {none}' if none else optimal}")
        put_table(
            ["level", "optimum>", "kind", "leaves>"],
            ([c.level, none or c.value, c.kind, c.leaves] for c in checked.levels),
        )

    data = {"valid": True, "instance": checked.instance, "infeasible": bool(none), "levels": levels}
    return Answer(data, put)


def _refusal(verdict: str, error: Exception, data: dict[str, object]) -> Answer:
    said = f"{verdict}: {error}"
    return Answer(data | {"reason": str(error)}, lambda: put_line(said), Exit.NEGATIVE)


def _of_bound(found: CheckedBound) -> Answer:
    level = {"level": found.level, "kind": KINDS[0], "leaves": found.leaves}
    data = {"valid": True, "instance": found.instance, "bound": level | number_to_data(found.value)}
    better = f"has a better {found.level} than {display(found.value)}"
    return Answer(data, lambda: put_line(f"valid: no solution of {found.instance} {better}"))
