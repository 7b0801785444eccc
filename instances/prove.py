"""Prove the best known solutions optimal, and write the proofs beside the instances.

    python instances/prove.py [--limit S] [--anew] [NAME ...]
    python instances/prove.py [--limit S] [--anew] --bound VALUE NAME

Of every instance with a closed gap (or the named ones) that has no proof yet (or with `--anew` of
all), a proof is searched for S seconds (120 by default), checked, and written to
``<problem>/proofs/<name>.json.gz``; the index says of each level how exactly it is proved. With
`--bound`, the proof is one that no solution of an open instance is better than VALUE at the first
level. It is written to ``<problem>/bounds/<name>.json.gz`` and the index if the bound is better, or
with `--anew` as good.
"""

import time
from fractions import Fraction
from typing import Annotated, Any

import typer
from make import HERE, write_index
from rich.console import Console

import dlsched
from dlsched import library
from dlsched.proofs.bounds import write_bound
from dlsched.proofs.document import write_proof
from dlsched.proofs.prove import ProofFailed
from dlsched.registry import problem
from dlsched.results.objective import Bound, bound_from_data


def prove(name: str, seconds: float) -> dict[str, object]:
    """Write the proof of an instance, and return what the index says of it.

    Raises
    ------
    ProofFailed
        If none was found in time.
    """
    began = time.process_time()
    proof = dlsched.prove(name, time_limit=seconds)
    proved = time.process_time()
    file = library.proof_file(name)
    file.parent.mkdir(exist_ok=True)
    write_proof(proof, file)
    checked = dlsched.check_proof(name, file)
    spent = time.process_time() - proved
    Console(stderr=True).print(
        f"{name}: {proof.leaves} leaves, {proved - began:.2f} s to prove, {spent:.2f} s to check, "
        f"{file.stat().st_size:,} bytes"
    )
    return {
        "file": str(file.relative_to(HERE)),
        "leaves": proof.leaves,
        "kinds": {level.level: level.kind for level in checked.levels},
    }


def prove_bound(line: dict[str, Any], value: str, seconds: float, anew: bool) -> None:
    """Write the proof of an open instance's bound, and the bound to its line in the index.

    Raises
    ------
    ProofFailed
        If none was found in time.
    ValueError
        If the index has a better bound.
    """
    name, level = line["name"], problem(line["problem"]).levels[0]
    known = line["bound"][level.name]
    best = None if known is None else bound_from_data(known).value
    again = anew and best == Fraction(value)
    if best is not None and not again and not level.better(best, Fraction(value)):
        raise ValueError(f"{name}: the index has {best}")
    began = time.process_time()
    proof = dlsched.prove_bound(name, value, time_limit=seconds)
    proved = time.process_time()
    file = library.bound_file(name)
    file.parent.mkdir(exist_ok=True)
    write_bound(proof, file)
    checked = dlsched.check_bound(name, file)
    spent = time.process_time() - proved
    line["bound"][level.name] = Bound(checked.value, "certified", "proof").to_data()
    Console(stderr=True).print(
        f"{name}: {float(checked.value)}, {checked.leaves} leaves, {proved - began:.2f} s to "
        f"prove, {spent:.2f} s to check, {file.stat().st_size:,} bytes"
    )


def main(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME")] = None,
    limit: Annotated[float, typer.Option(help="Seconds for each instance.")] = 120,
    anew: Annotated[bool, typer.Option(help="Those that have a proof, too.")] = False,
    bound: Annotated[str | None, typer.Option(help="Of the one open instance named.")] = None,
) -> None:
    """Prove what is closed, or a bound of what is not."""
    lines = {name: dict(line) for name, line in library.index().items()}
    if bound is not None:
        [name] = names or []
        try:
            prove_bound(lines[name], bound, limit, anew)
        except ProofFailed as error:
            Console(stderr=True).print(f"{name}: no proof of {bound}: {error}")
            raise typer.Exit(1) from None
        write_index(list(lines.values()))
        return
    for name in names or lines:
        line = lines[name]
        if line["kind"] == "open" or ("certificate" in line and not (anew or names)):
            continue
        try:
            line["certificate"] = prove(name, limit)
        except ProofFailed as error:
            Console(stderr=True).print(f"{name}: no proof: {error}")
            continue
        write_index(list(lines.values()))


if __name__ == "__main__":
    typer.run(main)
