"""What many tests call: Python in a process of its own, and the command line in this one."""

import json
import os
import re
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from dlsched.cli import app

PATIENCE = 1800
"""Seconds after which a test gives up on a process; nothing is asserted about time.

Only a process that hangs reaches it: with ten others on each core, one of them took 400 s.
"""
MAIN = "from dlsched.cli import main; main()"
"""The command line as a program for `python` and `started`."""


def started(
    code: str, *arguments: object, env: Mapping[str, str] | None = None, **options: Any
) -> subprocess.Popen[Any]:
    """Start code in a fresh interpreter with pipes for its text; `env` is added to ours."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    return subprocess.Popen(command, env=os.environ | (env or {}), **options)


def python(code: str, *arguments: object, check: bool = True, **options: Any) -> Any:
    """Run code in a fresh interpreter, which must end without an error unless `check` is false."""
    process = started(code, *arguments, **options)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 or not check, f"{process.returncode}\n{out}\n{err}"
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def apart(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test in a copy of this process, where what it registers is gone after it.

    It may call no solver: HiGHS has threads that a copy has not.
    """

    @wraps(test)
    def forked(*arguments: Any, **options: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # that there are threads
            child = os.fork()
        if child == 0:
            try:
                test(*arguments, **options)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    return forked


PROGRESS = re.compile(rb"^\[\d+ s\] .*\n", re.M)
"""What a command says that it does, if it takes longer than 2 seconds."""


def run(*arguments: object, status: int | tuple[int, ...] = 0) -> Result:
    """Run a command of dlsched in this process and check its exit status.

    What it says of its progress is left out: that depends on the machine.
    """
    ran = CliRunner().invoke(app, list(map(str, arguments)))
    ran.stderr_bytes = PROGRESS.sub(b"", ran.stderr_bytes or b"")
    ran.output_bytes = PROGRESS.sub(b"", ran.output_bytes)
    assert ran.exit_code in (status if isinstance(status, tuple) else (status,)), ran.output
    return ran


def data(*arguments: object, status: int = 0) -> Any:
    """Run a command with --json, which writes nothing else, and return what it wrote."""
    ran = run(*arguments, "--json", status=status)
    assert ran.stderr == ""
    return json.loads(ran.stdout)


def refusal(*arguments: object) -> str:
    """Return the one line that a command writes when it cannot use what it is given."""
    ran = run(*arguments, status=2)
    assert ran.stdout == "" and ran.stderr.startswith("error: ") and ran.stderr.count("\n") == 1
    return ran.stderr


def install(folder: Path, name: str, version: str = "1.0", more: str = "", **files: str) -> None:
    """Install a package: lines of its metadata, its other facts and modules by their names."""
    facts = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    facts.mkdir(parents=True)
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (facts / "METADATA").write_text(head + more)
    for file, text in files.items():
        place = facts if file in ("entry_points", "top_level") else folder
        (place / f"{file}.{'txt' if place is facts else 'py'}").write_text(text)


def suite_text(instances: str | list[str], *methods: str, **head: Any) -> str:
    """Return a suite: entries of instances and methods, each with its fields between ``;``.

    A method's first field is its name; other fields of the suite are keywords.
    """
    fields = {"name": "small"} | head
    parts = [f"{field} = {json.dumps(value)}" for field, value in fields.items()]
    for entry in [instances] if isinstance(instances, str) else instances:
        parts += ["[[instances]]", *entry.split("; ")]
    for method in methods:
        name, *rest = method.split("; ")
        parts += ["[[methods]]", f'name = "{name}"', *rest]
    return "\n".join(parts) + "\n"


FIG5 = 'names = ["lyra-fig5"]'
"""The entry of one small instance."""
