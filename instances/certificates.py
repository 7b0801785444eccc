"""Have proofs of the library checked by a public checker of VIPR certificates.

    python instances/certificates.py --checker PATH [--all] [NAME ...]

The proofs of the named instances, by default of the small ones, with `--all` of all, are written as
certificates, a file a level. PATH has to accept each of them, and to refuse it once the bound is
one higher, and once a multiplier is another. docs/proofs.md says where a checker is found, and how
it is built.
"""

import resource
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from dlsched import api, library
from dlsched.errors import OptionError

SMALL = "small"


def damaged(text: str) -> Iterator[str]:
    """Yield a certificate with a higher bound, and one with another multiplier in its first sum."""
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("RTP"))
    relation, kind, bound, end = lines[at].split()
    number, slash, unit = bound.partition("/")
    raised = f"{int(number) + 1}{slash}{unit}"
    yield "\n".join([*lines[:at], f"{relation} {kind} {raised} {end}", *lines[at + 1 :]]) + "\n"
    if "OBJ min 0" in lines:
        return  # without costs there is nothing to derive, and no sum is read
    at = next(i for i, line in enumerate(lines) if "{ lin" in line or "{ rnd" in line)
    head, _, tail = lines[at].rpartition(" } ")
    yield "\n".join([*lines[:at], f"{head}7 }} {tail}", *lines[at + 1 :]]) + "\n"


def accepted(checker: Path, file: Path, text: str) -> bool:
    """Whether the checker accepts a certificate."""
    file.write_text(text)
    return subprocess.run([checker, file], capture_output=True, check=False).returncode == 0


def _seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def check(checker: Path, name: str, folder: Path) -> Counter[str]:
    """Return the levels, bytes and seconds of an instance; raise if the checker disagrees."""
    counts: Counter[str] = Counter()
    began = time.process_time()
    texts = api.vipr_texts(name)
    counts["milliseconds to write"] = round(1000 * (time.process_time() - began))
    for level, text in texts.items():
        file = folder / f"{name}.{level}.vipr"
        began = _seconds_of_children()
        if not accepted(checker, file, text):
            raise SystemExit(f"{file.name} is refused")
        counts["milliseconds to check"] += round(1000 * (_seconds_of_children() - began))
        for wrong in damaged(text):
            if accepted(checker, file, wrong):
                raise SystemExit(f"{file.name} is damaged, and accepted")
            counts["damaged and refused"] += 1
        counts["accepted"] += 1
        counts["bytes"] += len(text)
        counts["derivations"] += int(text.partition("\nDER ")[2].partition("\n")[0])
    return counts


def main(
    checker: Annotated[Path, typer.Option(help="The program, as viprchk.")],
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every instance with a proof.")] = False,
) -> None:
    """Check the certificates of some instances."""
    chosen = names or [
        name
        for name, entry in library.index().items()
        if "certificate" in entry and (every or entry["kind"] == SMALL)
    ]
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            try:
                found = check(checker.resolve(), name, Path(folder))
            except OptionError as error:
                Console().print(f"{name}: {error}")
                total["too large"] += 1
                continue
            total += found
            Console().print(f"{name}: {found['accepted']} accepted, {found['bytes']:,} bytes")
    for what, count in {"instances": len(chosen), **total}.items():
        Console().print(f"{what}: {count:,}")


if __name__ == "__main__":
    typer.run(main)
