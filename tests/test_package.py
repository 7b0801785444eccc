"""What is shipped is complete, and says the same thing everywhere."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import dlsched

ROOT = Path(__file__).parents[1]


def test_wheel_brings_the_instances(tmp_path: Path) -> None:
    """An unpacked wheel, away from the checkout, loads named instances and verifies solutions."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    for file in ("py.typed", "bench/report.html.jinja"):
        assert (tmp_path / "site" / "dlsched" / file).exists()
    code = (
        "import dlsched; from dlsched import library;"
        "assert library.root().name == '_instances', library.root();"
        "assert all(dlsched.verify(n, library.solution_file(n)) for n in dlsched.list_instances());"
        "print(len(dlsched.list_instances()))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "site")},
        check=True,
        capture_output=True,
        text=True,
    )
    assert int(run.stdout) == len(dlsched.list_instances())


def test_version_is_the_same_everywhere() -> None:
    """pyproject.toml, the package, the citation and the changelog name one version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == dlsched.__version__
    assert f"version: {dlsched.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {dlsched.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_dependency_is_pinned() -> None:
    """constraints.txt pins every package that pyproject.toml asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = itertools.chain(*project["optional-dependencies"].values())
    asked = [*project["dependencies"], *extras]
    names = {
        re.split(r">=|\[", line)[0].lower() for line in asked if not line.startswith("dlsched")
    }
    pinned = {line.split("==")[0].lower() for line in (ROOT / "constraints.txt").open()}
    assert names <= pinned
