"""docs/add-a-problem.md, followed step by step: a seventh problem, in a package of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "add-a-problem.md"
FILE = re.compile(r"^<!-- not run: file (\S+) -->\n```\w+\n(.*?)^```", re.M | re.S)
COMMANDS = re.compile(r"^```bash\n(.*?)^```", re.M | re.S)
BLOCK = re.compile(r"^<!-- not run: needs the package -->\n```python\n(.*?)^```", re.M | re.S)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the page's files into a new folder."""
    folder = tmp_path_factory.mktemp("admission")
    files = FILE.findall(PAGE.read_text(encoding="utf-8"))
    assert len(files) >= 12
    for name, content in files:
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(content, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def environment(project: Path) -> dict[str, str]:
    """Return the variables with which pip installs into the folder, and Python finds it."""
    site = str(project / "site")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    found = os.pathsep.join(filter(None, [site, os.environ.get("PYTHONPATH")]))
    own = {"PATH": path, "PIP_TARGET": site, "PYTHONPATH": found, "MPLBACKEND": "Agg"}
    return os.environ | own | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def run(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    """Run a command in a folder and return what it prints; it must succeed."""
    ran = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, f"{command}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


@pytest.mark.slow
def test_the_page_s_steps_work(project: Path, environment: dict[str, str]) -> None:
    """The package is installed, solved, benchmarked and property-tested as the page says."""
    text = PAGE.read_text(encoding="utf-8")
    commands = "".join(COMMANDS.findall(text)).splitlines()
    assert [c.split()[:2] for c in commands][-4:] == [
        ["dlsched", name] for name in ("generate", "solve", "verify", "bench")
    ]
    for command in commands:
        run(["bash", "-c", command], project, environment)
    blocks = BLOCK.findall(text)
    assert len(blocks) == 2
    said = run([sys.executable, "-c", "\n".join(blocks)], project, environment)
    assert "0 failed, skipped: card, page" in said
