"""What commands print: at many widths, as the page says, and offered while one types."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

import dlsched
from calls import data, run, suite_text
from dlsched import registry
from dlsched.cli import app

LONG = "trace-of-a-production-cluster-2026-11-22"
SERVER = "server-in-the-second-hall-rack-{:03}"
MODULE = """
def a_method_with_a_rather_long_name(instance, rng):
    return {"returned": [server.id for server in instance.servers[: instance.demand]]}
def fails(instance, rng):
    raise ValueError(" ".join(["a reason of many words"] * 20))
"""
OWN = "own_methods:a_method_with_a_rather_long_name"
SUITE = suite_text(
    [f'files = "{LONG}.json"', 'names = ["elastic-354-phase2", "muri-fig4", "hadar-section2"]'],
    "exact",
    f'{OWN}; problem = "reclaiming"',
    'own_methods:fails; problem = "reclaiming"',
)
UNKNOWN = "a-server-that-does-not-exist-in-the-second-hall-rack-1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with an instance of long names and large numbers, solutions and a sweep."""
    folder = tmp_path_factory.mktemp("widths")
    (folder / "own_methods.py").write_text(MODULE)
    servers = [{"id": SERVER.format(i), "gpus": 1_000_000} for i in range(6)]
    workers = [{"server": server["id"], "gpus": 123_456} for server in servers]
    jobs = [
        {"id": f"training-run-of-a-language-model-{i}", "weight": 1_234_567 + i,
         "workers": workers[i :: 1 + i % 3]}
        for i in range(6)
    ]  # fmt: skip
    envelope = {"dlsched": 1, "problem": "reclaiming"}
    data = envelope | {"name": LONG, "demand": 3, "servers": servers, "jobs": jobs}
    made = dlsched.load(data)
    dlsched.save(made, folder / f"{LONG}.json")
    dlsched.save(dlsched.solve(made).solution, folder / "best.json")
    dlsched.save(dlsched.solve("lyra-fig5").solution, folder / "fig5.json")
    broken = envelope | {"instance": LONG, "returned": [UNKNOWN, SERVER.format(1)]}
    (folder / "broken.json").write_text(json.dumps(broken))
    (folder / "suite.toml").write_text(SUITE)
    return folder


PRIMARY = {
    f"solve {LONG}.json -o s.json": [LONG, "(exact):", "optimal", "preempted", "jobs"],
    f"solve {LONG}.json -m {OWN}": [LONG, OWN.partition(":")[2], "feasible"],
    f"verify {LONG}.json best.json": ["feasible", "preempted", "collateral"],
    f"verify {LONG}.json broken.json": ["unknown_server", "too_few_servers", f'"{UNKNOWN}"'],
    "bench suite.toml -o results -j 1 --resume": [
        "exact", OWN, "own_methods:fails", "failed", "results"
    ],
    f"show {LONG}.json": [LONG, "sha256"],
    "show reclaiming": ["densest", "gpu_fraction", "preempted"],
    "show sensitivity": ["tune_public", "price_round", "remaining=None"],
    "show interleaving": ["column_generation", "muri_worst_order"],
    "list": ["placement-open-1000x10x3000", "reclaiming-520-130-flexible", "indivisible_bound"],
    "list instances": dlsched.list_instances(),
    "list problems": dlsched.list_problems(),
    "list methods -p utility": list(dlsched.list_methods("utility")["method"]),
    "generate placement --seed 3 --set tables=12 -o made.json": ["made.json", "sha256"],
    "generate reclaiming --trace synthetic-1 --at 6d --servers 64 -o moment.json": [
        "reclaiming-synthetic-1-6d-64x8", "moment.json"
    ],
    f"export {LONG}.json model.mps": ["model.mps"],
    "plot lyra-fig5 -o fig5.svg": ["fig5.svg"],
}  # fmt: skip


@pytest.fixture(params=[80, *(pytest.param(n, marks=pytest.mark.slow) for n in (100, 160))])
def width(request: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Give the width of the terminal, in the folder."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("COLUMNS", str(request.param))
    return int(request.param)


@pytest.mark.parametrize("command", PRIMARY)
def test_command_fits(command: str, width: int) -> None:
    """No line on stdout is wider than the terminal, and what matters stands there whole."""
    ran = run(*shlex.split(command), status=(0, 1))
    words = ran.stdout.split()
    for cell in PRIMARY[command]:
        assert cell in words, cell
    assert max(map(len, ran.stdout.splitlines())) <= width


@pytest.mark.parametrize("problem", dlsched.list_problems())
def test_comparisons_have_every_value(problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At any width: no line is wider, and beside each method are status and all levels' digits.

    Levels that are equal for all methods may stand in a line below the table instead.
    """
    instances = [f"{problem}-small-05", registry.problem(problem).module("generate").examples()[0]]
    names = [getattr(instance, "name", instance) for instance in instances]
    methods = [method for method in registry.problem(problem).methods][:6]
    asked = ["compare", *names, *(word for method in methods for word in ("-m", method))]
    rows = data(*asked, status=(0, 1))
    levels = [level.name for level in registry.problem(problem).levels]
    for width in (60, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        said = run(*asked, status=(0, 1)).stdout
        assert max(map(len, said.splitlines())) <= width
        places = [*said.splitlines(), *said.split("\n\n")]
        words = " ".join(said.split())
        for row in rows:
            values = {n: f"{int(row[n]):,}" for n in levels if row.get(n) is not None}
            same = [
                n for n in values if re.search(rf"[:;] [^:;=]*\b{n}\b[^:;=]* = {values[n]}", words)
            ]
            cells = {row["method"], row["status"], *(values[n] for n in values if n not in same)}
            assert any(all(cell in place for cell in cells) for place in places), (row, said)


GOLDEN = re.findall(
    r"^\$ (?:COLUMNS=(\d+) )?compare (.*)\n((?:(?!\$ ).*\n)*)",
    (Path(__file__).parent / "comparisons.txt").read_text(encoding="utf-8"),
    re.M,
)
"""Widths, none for a pipe; arguments of `compare`; what it prints, with T for seconds."""
NAMES = {"wide": "服务器", "[bold]": "[bold]not markup[/]", "long": "n" * 70}
"""Odd names by file: of wide characters, of markup, wider than the terminal."""


@pytest.mark.parametrize(("width", "arguments", "printed"), GOLDEN)
def test_what_compare_prints(
    width: str, arguments: str, printed: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Secondary columns go first, then levels that are equal; names and digits are whole."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    for file, name in NAMES.items():
        dlsched.save(dlsched.load("lyra-fig5").model_copy(update={"name": name}), f"{file}.json")
    if width:
        monkeypatch.setenv("COLUMNS", width)
    said = run("compare", *arguments.split()).stdout
    assert re.sub(r"\d\.\d{4}\b", "     T", said) == printed


def test_the_stated_width_shows_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line below a narrow table names a width; with it no column is left out."""
    command = ["compare", "sensitivity-small-05", "hadar-section2", "-m", "exact"]
    monkeypatch.setenv("COLUMNS", "80")
    narrow = " ".join(run(*command).stdout.split())
    found = re.search(r"left out in 80 columns: ([\w, ]+); COLUMNS=(\d+) or --json", narrow)
    assert found
    monkeypatch.setenv("COLUMNS", found[2])
    whole = run(*command).stdout
    assert "left out" not in whole and all(name in whole for name in found[1].split(", "))
    assert max(map(len, whole.splitlines())) <= int(found[2])


@pytest.mark.parametrize("width", [40, 80, None])
def test_text_wraps_and_nothing_is_lost(width: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A column of text is broken at blanks, with every word of it; a pipe gets long lines."""
    if width is not None:
        monkeypatch.setenv("COLUMNS", str(width))
    lines = run("list", "methods", "-p", "utility").stdout.splitlines()
    assert max(map(len, lines)) <= width if width else 120 < max(map(len, lines)) <= 200
    words = " ".join(" ".join(lines).split())
    for row in dlsched.list_methods("utility").to_dict("records"):
        assert row["method"] in words and all(word in words for word in row["summary"].split())


def test_several_columns_of_text_share_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """The longer texts get more of it, so that the table has few lines."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("list", "problems").stdout.splitlines()
    assert max(map(len, lines)) <= 80 and len(lines) <= 34


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


SECONDS = ("dlsched bench", "dlsched report", "dlsched simulate", "dlsched doctor")
"""Commands that take seconds; no other one of the page needs their files."""


@pytest.mark.parametrize("left_out", [SECONDS, pytest.param((), marks=pytest.mark.slow)], ids=len)
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
