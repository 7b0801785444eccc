"""``dlsched prove`` and ``check-proof``: that a solution is optimal, or a bound holds."""

from __future__ import annotations

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
    """Prove that a solution is optimal, or that there is none; `check-proof` needs no solver."""
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
        said = str(error)
        data = {"instance": inst.name, "proved": False, "reason": said}
        return Answer(data, lambda: put_line(f"no proof: {said}"), Exit.NEGATIVE)
    rows = [
        {
            "level": p.level,
            "target": None if p.target is None else str(p.target),
            "kind": p.kind,
            "nodes": len(p.nodes),
        }
        for p in levels
    ]
    what, flags = ("optimum>", "") if bound is None else ("bound>", "--bound ")
    flags += f"--variant {variant} " if variant else ""

    def put() -> None:
        put_table(
            ["level", what, "kind", "nodes>"],
            ([p.level, p.target or _shown(p.target), p.kind, len(p.nodes)] for p in levels),
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
        said = str(error)
        data = {"valid": False, "reason": said}
        return Answer(data, lambda: put_line(f"invalid: {said}"), Exit.NEGATIVE)
    none = any(c.value is None for c in checked.levels)
    levels = [
        {"level": c.level, "kind": c.kind, "leaves": c.leaves}
        | ({} if c.value is None else number_to_data(c.value))
        for c in checked.levels
    ]

    def put() -> None:
        optimal = f"the proof's solution of {checked.instance} is optimal"
        put_line(f"valid: {checked.instance} has no solution" if none else f"valid: {optimal}")
        put_table(
            ["level", "optimum>", "kind", "leaves>"],
            ([c.level, c.value or _shown(c.value), c.kind, c.leaves] for c in checked.levels),
        )

    data = {"valid": True, "instance": checked.instance, "infeasible": none, "levels": levels}
    return Answer(data, put)


def _shown(value: object) -> str:
    """Return a value as text; that there is no solution if there is none."""
    return "no solution" if value is None else str(value)


def _of_bound(found: CheckedBound) -> Answer:
    value = number_to_data(found.value)
    level = {"level": found.level, "kind": KINDS[0], "leaves": found.leaves} | value
    better = f"a better {found.level} than {display(found.value)}"
    return Answer(
        {"valid": True, "instance": found.instance, "bound": level},
        lambda: put_line(f"valid: no solution of {found.instance} has {better}"),
    )
