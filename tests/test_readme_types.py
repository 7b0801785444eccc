"""The README's Python type-checks for users who run mypy --strict."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_snippets_type_check(tmp_path: Path) -> None:
    """The README's blocks, one after the other, are a module without type errors."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    assert blocks
    script = tmp_path / "readme.py"
    script.write_text("\n".join(blocks))
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "pyproject.toml"]
    ran = subprocess.run(
        [*command, str(script)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout


def test_fields_of_any_problem_are_known(tmp_path: Path) -> None:
    """An instance's and a solution's own fields need no cast; a misspelt result does not pass."""
    script = tmp_path / "fields.py"
    lines = [
        "import dlsched",
        "print(dlsched.load('lyra-fig5').servers[0].gpus)",
        "result = dlsched.solve('lyra-fig5')",
        "print(result.solution.returned, result.objective.preempted, result.bound.preempted)",
        "print(result.objectiv)",
    ]
    script.write_text("\n".join(lines))
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "pyproject.toml"]
    ran = subprocess.run(
        [*command, str(script)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    errors = [line for line in ran.stdout.splitlines() if "error:" in line]
    assert len(errors) == 1 and 'no attribute "objectiv"' in errors[0], ran.stdout
