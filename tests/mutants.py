"""Mutation testing of what must be right: ``python tests/mutants.py --mutants 400 --seed 58``.

Faults are drawn by cosmic-ray's operators (``pip install cosmic-ray``) in definitions,
certificates, the check of proofs and the audit. Each is put into a copy of the source, on which the
tests named for it run until one fails. Those that no test noticed are written to stdout.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import NamedTuple

from cosmic_ray.ast import Visitor, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "dlsched"
TRIED = {
    "problems/*/definition/*.py": "tests/problems/{0} tests/contract tests/variants -k '{0}'",
    "solvers/certificate.py": "tests/internal/solvers tests/solvers",
    "proofs/check.py": "tests/proofs tests/internal/proofs",
    "simulation/audit/*.py": "tests/simulation tests/internal/simulation -k 'audit or log'",
}
"""Modules, and the tests that are to notice a fault; {0} is what the star stands for."""
OPERATORS = re.compile(
    r"core/(ReplaceBinaryOperator_(Add|Sub|Mul|Div|FloorDiv|BitAnd|BitOr)_(Add|Sub|Mul|BitAnd|BitOr)"
    r"|ReplaceComparisonOperator_(Eq|NotEq|LtE?|GtE?)_(Eq|NotEq|LtE?|GtE?)"
    r"|ReplaceComparisonOperator_Is(Not)?_Is(Not)?|ReplaceUnaryOperator_\w+_(UAdd|USub|Not)"
    r"|ReplaceUnaryOperator_Delete_Not|AddNot|Replace(True|False)With\w+|Replace(And|Or)With\w+"
    r"|Replace(Break|Continue)With\w+|NumberReplacer|ZeroIterationForLoop)"
)
"""Faults that are no errors of type: those every test would notice."""
SECONDS = 300


class Fault(NamedTuple):
    """An operator of cosmic-ray, at its n-th place in a file."""

    path: Path
    line: int
    operator: str
    occurrence: int


class _Places(Visitor):
    """The places at which an operator applies."""

    def __init__(self, operator: str) -> None:
        self.operator = get_operator(operator)()
        self.places: list[tuple[int, int]] = []

    def visit(self, node: object) -> object:
        """Note the places in a node, and go on."""
        self.places += [start for start, _ in self.operator.mutation_positions(node)]
        return node


def faults(path: Path) -> dict[tuple[int, int], list[Fault]]:
    """Return the faults by their place in a file; types and docstrings have none."""
    text = path.read_text(encoding="utf-8")
    types = [
        (part.lineno, part.col_offset, part.end_lineno, part.end_col_offset)
        for node in ast.walk(ast.parse(text))
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if part is not None
    ]
    found: dict[tuple[int, int], list[Fault]] = {}
    for name in filter(OPERATORS.fullmatch, sorted(operator_names())):
        visitor = _Places(name)
        visitor.walk(get_ast(text))
        for number, (line, column) in enumerate(visitor.places):
            if not any((a, b) <= (line, column) <= (c, d) for a, b, c, d in types):
                found.setdefault((line, column), []).append(Fault(path, line, name, number))
    return found


def drawn(count: int, seed: int) -> Iterator[tuple[Fault, str]]:
    """Yield faults, one at a place, and the tests for each."""
    rng = random.Random(seed)
    places = []
    for pattern, tests in TRIED.items():
        for path in sorted(SOURCE.glob(pattern)):
            chosen = tests.format(path.relative_to(SOURCE).parts[1])
            places += [(faults_there, chosen) for _, faults_there in sorted(faults(path).items())]
    for there, chosen in rng.sample(places, min(count, len(places))):
        yield rng.choice(there), chosen


def is_noticed(fault: Fault, tests: str, copy: Path) -> bool:
    """Return whether a test fails, or the tests do not end, with the fault in the copy."""
    target = copy / fault.path.relative_to(SOURCE.parent)
    text = fault.path.read_text(encoding="utf-8")
    target.write_text(mutate_code(text, get_operator(fault.operator)(), fault.occurrence))
    where, _, only = tests.partition(" -k ")
    folders = [name for name in where.split() if (ROOT / name).exists()]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
    command += [*folders, *(["-k", only.strip("'")] if only else [])]
    environment = os.environ | {"PYTHONPATH": str(copy)}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, timeout=SECONDS, capture_output=True, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    finally:
        target.write_text(text)
    if done.returncode not in (0, 1, 2):
        raise RuntimeError(done.stdout.decode()[-2000:])
    return done.returncode != 0


def main() -> None:
    """Draw faults, run the tests on each, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=400)
    parser.add_argument("--seed", type=int, default=58)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="Files whose path has this in it.")
    given = parser.parse_args()
    chosen = [row for row in drawn(given.mutants, given.seed) if given.only in str(row[0].path)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as pool:
        copies: Queue[Path] = Queue()
        for number in range(given.jobs):
            copies.put(Path(shutil.copytree(SOURCE, Path(folder) / str(number) / "dlsched")).parent)

        def try_one(row: tuple[Fault, str]) -> bool:
            copy = copies.get()
            try:
                noticed = is_noticed(*row, copy)
            finally:
                copies.put(copy)
            print("." if noticed else "s", end="", file=sys.stderr, flush=True)
            return noticed

        tried = zip(chosen, pool.map(try_one, chosen), strict=True)
        left = [fault for (fault, _), noticed in tried if not noticed]
    print(f"\n{len(left)} of {len(chosen)} faults are not noticed.\n")
    for fault in left:
        text = fault.path.read_text(encoding="utf-8")
        changed = mutate_code(text, get_operator(fault.operator)(), fault.occurrence)
        pairs = zip(text.splitlines(), changed.splitlines(), strict=False)
        before, after = next((a, b) for a, b in pairs if a != b)
        where = f"{fault.path.relative_to(SOURCE)}:{fault.line}"
        print(f"- {where}: `{before.strip()}` -> `{after.strip()}`")


if __name__ == "__main__":
    main()
