"""The sessions on the command line's page happen as printed; what the shell offers."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from calls import run
from dlsched.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
TIME = re.compile(r" *\d+\.\d{4}\b")


def sessions(page: str) -> list[tuple[str, str]]:
    """Return every command of a page with the output printed below it."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"^```console\n(.*?)^```$", page, re.M | re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], ""))
            elif re.match(r">( |$)", line):  # a command goes on
                found[-1] = (f"{found[-1][0]}\n{line[2:]}", "")
            else:
                found[-1] = (found[-1][0], found[-1][1] + line + "\n")
    return found


def pattern(text: str) -> str:
    """Return a regular expression for printed output: any times, and any lines for ``...``."""
    lines = ("(.*\n)*" if line == "..." else re.escape(line) + "\n" for line in text.splitlines())
    return "".join(lines)


def normal(text: str) -> str:
    """Return output without what differs from run to run, and without blank lines."""
    lines = (TIME.sub(" T", line).rstrip() for line in text.splitlines())
    return "".join(f"{re.sub('─+', '─', line)}\n" for line in lines if line)


LONG = ("dlsched bench", "dlsched report", "dlsched simulate", "dlsched doctor")
"""Commands that take seconds; no other one of the page needs their files."""


@pytest.mark.parametrize("left_out", [LONG, pytest.param((), marks=pytest.mark.slow)], ids=len)
def test_page_is_true(
    left_out: tuple[str, ...], workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command prints what the page says that it prints."""
    monkeypatch.delenv("COLUMNS", raising=False)
    shown = sessions(PAGE.read_text())
    assert len(shown) >= 10
    for command, output in shown:
        if command.startswith(left_out or ("-",)):
            continue
        if not command.startswith("dlsched "):
            subprocess.run(["/bin/sh", "-c", command], check=True, cwd=workdir, env=os.environ)
            continue
        ran = run(*shlex.split(command)[1:], status=(0, 2))
        assert re.fullmatch(pattern(normal(output)), normal(ran.output)), (command, ran.output)


LINES = {
    "dlsched solve lyra-f": ["lyra-fig5", "lyra-fig6", "lyra-fig6-loan"],
    "dlsched solve lyra-fig5 -m gpu": ["gpu_fraction"],
    "dlsched compare lyra-fig5 -m m": ["milp"],
    "dlsched simulate synthetic-1 -p muri": ["muri_l", "muri_s"],
    "dlsched simulate sample-p": ["sample-philly", "sample-pai"],
    "dlsched generate pla": ["placement"],
    "dlsched show dis": ["dispatch"],
    "dlsched list -p reclai": ["reclaiming"],
    "dlsched verify mine": ["mine.json"],
    "dlsched generate elastic --format tire": ["tiresias"],
}
"""A line, and what is offered first for its last word."""


@pytest.mark.parametrize("line", LINES)
def test_names_are_completed(
    line: str, workdir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Problems, methods of the instance on the line, instances, files, policies and traces."""
    (workdir / "mine.json").write_text("{}")
    words = line.split()
    monkeypatch.setenv("_DLSCHED_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    with pytest.raises(SystemExit) as stopped:
        app(prog_name="dlsched")
    assert stopped.value.code == 0
    offered = capsys.readouterr().out.split()
    assert offered[: len(LINES[line])] == LINES[line]
    assert all(name.startswith(words[-1]) for name in offered)
