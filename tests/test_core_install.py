"""What `pip install dlsched` alone can do: README's code and the commands, without the extras."""

from __future__ import annotations

import json
import re
import tomllib
from importlib import metadata
from pathlib import Path

from calls import FIG5, python, suite_text

ROOT = Path(__file__).parents[1]
RUN = """
import contextlib, io, json, sys

class Absent:
    '''Finds no package of an extra, as if it were not installed.'''

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None

absent, blocks, commands = json.loads(sys.argv[1])
sys.meta_path.insert(0, Absent())
from dlsched.cli import app
from dlsched import ExtraMissing

said, space = [], {"__name__": "readme"}
for block in blocks:
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(block, "README.md", "exec", dont_inherit=True), space)
        said.append("works")
    except ExtraMissing as error:
        said.append(str(error))
for command in commands:
    errors = io.StringIO()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            app(command)
    except SystemExit as stopped:
        said.append("works" if not stopped.code else f"{stopped.code} {errors.getvalue()}")
print(json.dumps(said))
"""
COMMANDS = {
    "list instances": "works",
    "show lyra-fig5": "works",
    "solve lyra-fig5 -o best.json": "works",
    "verify lyra-fig5 best.json": "works",
    "compare lyra-fig5 -m exact -m lyra": "works",
    "generate elastic -o made.json": "works",
    "export lyra-fig5 model.mps": "works",
    "plot lyra-fig5 -o a.png": "2 error: drawing needs matplotlib: pip install 'dlsched[plot]'\n",
    "bench suite.toml -o out": "2 error: dlsched bench needs filelock: "
    "pip install 'dlsched[bench]'\n",
    "report out": "2 error: dlsched report needs jinja2: pip install 'dlsched[bench]'\n",
}
"""Commands, and what they come to without the extras."""


def normal(name: str) -> str:
    """Return a distribution's name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def core() -> set[str]:
    """Return the distributions that the dependencies bring, and theirs, and so on."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found: set[str] = set()
    left = list(project["dependencies"])
    while left:
        name, _, marker = left.pop().partition(";")
        name = normal(re.split(r"[^\w.-]", name.strip())[0])
        if name not in found and "extra" not in marker:
            found.add(name)
            try:
                left += metadata.requires(name) or []
            except metadata.PackageNotFoundError:  # for another platform
                continue
    return found


def absent() -> list[str]:
    """Return the modules that the core would not have."""
    kept = core() | {"dlsched"}
    owners = metadata.packages_distributions()
    return [module for module, names in owners.items() if not kept & set(map(normal, names))]


def test_readme_and_commands_in_the_core_install(tmp_path: Path) -> None:
    """Each block of README and each command works, or says in one line what to install."""
    gone = absent()
    assert {"matplotlib", "hypothesis", "networkx", "cvxpy"} <= set(gone)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    (tmp_path / "suite.toml").write_text(suite_text(FIG5, "exact"))
    asked = json.dumps([gone, blocks, [command.split() for command in COMMANDS]])
    ran = python(RUN, asked, cwd=tmp_path, env={"COLUMNS": "100"})
    said = json.loads(ran.stdout.splitlines()[-1])
    hypothesis = "needs hypothesis: pip install 'dlsched[testing]'"
    for found in said[: len(blocks)]:
        assert found == "works" or found.endswith(hypothesis)
    assert said.count("works") >= 2 + sum(status == "works" for status in COMMANDS.values())
    assert dict(zip(COMMANDS, said[len(blocks) :], strict=True)) == COMMANDS
