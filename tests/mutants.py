"""Mutation testing of what must be right: ``python tests/mutants.py --mutants 400 --seed 58``.

Faults are drawn by cosmic-ray's operators (``pip install cosmic-ray``) in definitions,
certificates, the check of proofs and the audit. Each is put into a copy of the repository, where
the tests named for it, which pass without it, run until one fails. What none noticed is printed.
"""

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any, NamedTuple

from cosmic_ray.ast import Visitor, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "dlsched"
TRIED = {
    "problems/*/definition/*.py": "tests/problems/{0} tests/problems/test_reports.py tests/contract"
    " tests/variants -k '{0}'",
    "solvers/certificate.py": "tests/internal/solvers tests/solvers",
    "proofs/check.py": "tests/proofs tests/internal/proofs",
    "simulation/audit.py": "tests/simulation tests/internal/simulation -k 'audit or log'",
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


def fails(tests: str, copy: Path) -> bool:
    """Return whether a test fails in a copy of the repository, or the tests do not end."""
    where, _, only = tests.partition(" -k ")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
    command += [name for name in where.split() if (copy / name).exists()]
    command += ["-k", only.strip("'")] if only else []
    environment = os.environ | {"PYTHONPATH": str(copy / "src")}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, timeout=SECONDS, capture_output=True, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def is_noticed(fault: Fault, tests: str, copy: Path) -> bool:
    """Return whether a test fails with the fault in the copy."""
    target = copy / fault.path.relative_to(ROOT)
    text = target.read_text(encoding="utf-8")
    target.write_text(mutate_code(text, get_operator(fault.operator)(), fault.occurrence))
    try:
        return fails(tests, copy)
    finally:
        target.write_text(text)


def described(fault: Fault, copy: Path = ROOT) -> str:
    """Return a fault's place, and its line without it and with it."""
    text = (copy / fault.path.relative_to(ROOT)).read_text(encoding="utf-8")
    changed = mutate_code(text, get_operator(fault.operator)(), fault.occurrence)
    pairs = zip(text.splitlines(), changed.splitlines(), strict=False)
    before, after = next((a, b) for a, b in pairs if a != b)
    where = f"{fault.path.relative_to(SOURCE)}:{fault.line}"
    return f"- {where}: `{before.strip()}` -> `{after.strip()}`"


def main() -> None:
    """Draw faults, run the tests on each, and print those that are left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=400)
    parser.add_argument("--seed", type=int, default=58)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="A pattern that a file's path has in it.")
    given = parser.parse_args()
    chosen = [r for r in drawn(given.mutants, given.seed) if re.search(given.only, str(r[0].path))]
    copies: Queue[Path] = Queue()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as pool:
        for number in range(given.jobs):
            leave = shutil.ignore_patterns(".git", ".venv")
            copies.put(Path(shutil.copytree(ROOT, Path(folder) / str(number), ignore=leave)))

        def use_copy(function: Callable[..., Any], *arguments: object) -> Any:
            copy = copies.get()
            try:
                return function(*arguments, copy)
            finally:
                copies.put(copy)

        def try_one(row: tuple[Fault, str]) -> bool:
            noticed = use_copy(is_noticed, *row)
            if not noticed:
                print(use_copy(described, row[0]), flush=True)
            print("." if noticed else "s", end="", file=sys.stderr, flush=True)
            return noticed

        selections = list(dict.fromkeys(tests for _, tests in chosen))
        if any(pool.map(lambda tests: use_copy(fails, tests), selections)):
            raise SystemExit("some tests fail without a fault")
        noticed = list(pool.map(try_one, chosen))
    print(f"\n{noticed.count(False)} of {len(chosen)} faults are not noticed.")


if __name__ == "__main__":
    main()
