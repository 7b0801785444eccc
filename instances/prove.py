"""Prove the best known solutions optimal, and write the proofs beside the instances.

    python instances/prove.py [--limit S] [--anew] [NAME ...]

Of every instance with a closed gap (or the named ones) that has no proof yet (or with `--anew` of
all), a proof is searched for S seconds (120 by default), checked, and written to
``<problem>/proofs/<name>.json.gz``; the index says of each level how exactly it is proved.
"""

from __future__ import annotations

import time
from typing import Annotated

import typer
from make import HERE, write_index
from rich.console import Console

import dlsched
from dlsched import library
from dlsched.proofs.document import write_proof
from dlsched.proofs.prove import ProofFailed


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


def main(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME")] = None,
    limit: Annotated[float, typer.Option(help="Seconds for each instance.")] = 120,
    anew: Annotated[bool, typer.Option(help="Those that have a proof, too.")] = False,
) -> None:
    """Prove what is closed."""
    lines = {name: dict(line) for name, line in library.index().items()}
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
