"""The README's Python type-checks for users who run mypy --strict."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def checked(source: str, folder: Path) -> Any:
    """Return what mypy says of a module."""
    (folder / "module.py").write_text(source)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "pyproject.toml"]
    command.append(str(folder / "module.py"))
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_snippets_type_check(tmp_path: Path) -> None:
    """The README's blocks, one after the other, are a module without type errors."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    ran = checked("\n".join(blocks), tmp_path)
    assert blocks and ran.returncode == 0, ran.stdout


FIELDS = """
import dlsched
print(dlsched.load('lyra-fig5').servers[0].gpus)
result = dlsched.solve('lyra-fig5')
print(result.solution.returned, result.objective.preempted, result.bound.preempted)
print(result.objectiv)
"""


def test_fields_of_any_problem_are_known(tmp_path: Path) -> None:
    """An instance's and a solution's own fields need no cast; a misspelt result does not pass."""
    said = checked(FIELDS, tmp_path).stdout
    errors = [line for line in said.splitlines() if "error:" in line]
    assert len(errors) == 1 and 'no attribute "objectiv"' in errors[0], said
