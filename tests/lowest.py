"""Install the lowest versions that pyproject.toml allows, or the newest, and test with them.

``python tests/lowest.py`` makes a fresh environment in a temporary folder (about 2 GB, removed at
the end), with the declared minimum of every dependency and of every extra that is not for work on
dlsched itself; with ``--newest``, with the newest version of each, whatever constraints.txt says.
There it solves an instance of every problem with every method, and runs the tests: of the lowest
versions those of the core, the solvers, the command line, the sweeps, the traces and the contract,
of the newest all. Other arguments are pytest's, in place of these.
"""

import itertools
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

HOME = Path(__file__).resolve().parents[1]
TESTS = (
    *(f"tests/{folder}" for folder in ("contract", "cli", "internal/solvers", "records")),
    *("tests/solvers", "tests/sweeps", "tests/testing"),
    *(f"tests/test_{name}.py" for name in ("api", "evaluation", "package", "extras")),
    "tests/test_problem_registry.py",
    "tests/test_docs.py::test_schemas_are_current",
    "tests/test_docs.py::test_schema_is_as_strict_as_the_code",
)
NOT_OF_USERS = {"docs", "dev"}
"""Extras whose minimum is not tested; their newest versions are needed for all tests."""
SMOKE = """
import dlsched
import ipykernel
from dlsched.registry import problem_names, problem
import matplotlib
matplotlib.use("agg")
for name in problem_names():
    inst = dlsched.load(dlsched.list_instances(name)[0])
    found = dlsched.solve(inst)
    assert found.status == "optimal", found
    assert dlsched.read_result(found.to_json()).objective == found.objective
    dlsched.model(inst)
    dlsched.plot(found)
    assert problem(name).instance.model_json_schema()
    table = dlsched.compare([inst], list(problem(name).methods))
    failed = table[table["status"] == "error"]
    print(name, len(table), "methods,", len(failed), "not for this instance")
    assert not failed["reason"].str.match("(?!OptionError)").any(), list(failed["reason"])
"""


def requirements(newest: bool) -> list[str]:
    """Return every dependency, also of the users' extras, with its minimum as ``name==version``.

    For the newest versions, the names alone, with what work on dlsched itself needs.
    """
    project = tomllib.loads((HOME / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    chosen = (entries for name, entries in extras.items() if newest or name not in NOT_OF_USERS)
    wanted = [*project["dependencies"], *itertools.chain(*chosen)]
    found = [re.fullmatch(r"([\w.-]+(?:\[\w+\])?)>=([\w.]+)", entry) for entry in wanted]
    return [match[1] if newest else f"{match[1]}=={match[2]}" for match in found if match]


def main() -> int:
    """Make the environment, test in it, remove it; return 0 if all is well."""
    newest = sys.argv[1:2] == ["--newest"]
    chosen = sys.argv[2:] if newest else sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="dlsched-versions-") as place:
        venv.create(place, with_pip=True)
        python = str(Path(place, "bin", "python"))
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        build = tomllib.loads((HOME / "pyproject.toml").read_text())["build-system"]["requires"]
        subprocess.run([*pip, *requirements(newest), *build], check=True)
        subprocess.run([*pip[:3], "list"], check=True)
        # All tests need the folders beside src as well, which the wheel has in part.
        own = ["--editable", str(HOME)] if newest else ["--no-build-isolation", str(HOME)]
        subprocess.run([*pip, "--no-deps", *own], check=True)
        subprocess.run([python, "-c", SMOKE], check=True, cwd=place)
        pytest = [python, "-m", "pytest", "-q"]
        if newest:
            command = [*pytest, *(chosen or ["-n", "auto"])]
        else:
            # Old versions of one package use what newer ones of another have deprecated.
            pytest += ["-W", "ignore::DeprecationWarning", "-W", "ignore::FutureWarning"]
            command = [*pytest, *(chosen or TESTS)]
        return subprocess.run(command, check=False, cwd=HOME).returncode


if __name__ == "__main__":
    sys.exit(main())
