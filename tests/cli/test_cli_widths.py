"""Every command on terminals of many widths: no line is wider, names and numbers are whole."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import dlsched
from calls import data, run, suite_text
from dlsched import registry

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
    f"solve {LONG}.json -o s.json": [LONG, "(exact)", "optimal", "preempted", "jobs"],
    f"solve {LONG}.json -m {OWN}": [LONG, OWN.partition(":")[2], "feasible"],
    f"verify {LONG}.json best.json": ["feasible", "preempted", "collateral"],
    f"verify {LONG}.json broken.json": ["unknown_server", "too_few_servers", f'"{UNKNOWN}"'],
    "bench suite.toml -o results -j 1 --resume": [
        "exact", OWN, "own_methods:fails", "failed", "results"
    ],
    f"show {LONG}.json": [LONG, "sha256"],
    "show reclaiming": ["densest", "gpu_fraction", "preempted"],
    "show sensitivity": ["tune_public", "price_round", "order=descending"],
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


GOLDEN = {
    (80, "dispatch-small-05 dispatch-small-04 -m exact -m mast -m local"): """\
dispatch
  method  status    started_4  started_7  spread           gap_to_best  seconds
 ──────────────────────────────────────────────────────────────────────────────
 dispatch-small-05
  exact   optimal           8       8.64       4          0 % (spread)        T
  mast    feasible          8          4       3   53.70 % (started_7)        T
  local   feasible          0          4       2  100.00 % (started_4)        T
 dispatch-small-04
  exact   optimal           0      20.64       6          0 % (spread)        T
  mast    feasible          0      20.64       6          0 % (spread)        T
  local   feasible          0      16.64       4   19.38 % (started_7)        T

dispatch-small-05  the same for all methods: preempted_1, started_1,
                   preempted_2, started_2, preempted_3, started_3, preempted_4,
                   preempted_5, started_5, preempted_6, started_6, preempted_7,
                   young = 0
dispatch-small-04  the same for all methods: preempted_1, started_1,
                   preempted_2, started_2, preempted_3, started_3, preempted_4,
                   preempted_5, started_5, preempted_6, started_6, preempted_7,
                   young = 0

  left out in 80 columns: resolved_method, gap, best_bound, best_bound_kind;
    COLUMNS=159 or --json shows them
""",
    (80, "wide.json [bold].json -m lyra"): """\
reclaiming
  instance             method  status    preempted  collateral       gap_to_best
 ───────────────────────────────────────────────────────────────────────────────
  服务器               lyra    feasible          1           0  0 % (collateral)
  [bold]not markup[/]  lyra    feasible          1           0  0 % (collateral)

  left out in 80 columns: best_bound, best_bound_kind, seconds; COLUMNS=118 or
    --json shows them
""",
    (60, "long.json -m lyra -m exact"): f"""\
reclaiming
  method  status    preempted  collateral       gap_to_best
 ──────────────────────────────────────────────────────────
 {"n" * 70}
  lyra    feasible          1           0  0 % (collateral)
  exact   optimal           1           0  0 % (collateral)

  left out in 60 columns: resolved_method, gap,
    best_bound, best_bound_kind, seconds; COLUMNS=204 or
    --json shows them
""",
    (92, f"reclaiming-small-05 -m lyra -m {OWN}"): """\
reclaiming
  method                                        status    preempted  collateral  gap_to_best
 ───────────────────────────────────────────────────────────────────────────────────────────
 reclaiming-small-05
  lyra                                          feasible          2          16  87.50 % (2)
  own_methods:a_method_with_a_rather_long_name  feasible          5          14  60.00 % (1)

  left out in 92 columns: resolved_method, best_bound, best_bound_kind, seconds, names of
    levels; COLUMNS=194 or --json shows them
levels in brackets  reclaiming 1 preempted, 2 collateral
""",
    (60, f"reclaiming-small-05 -m lyra -m {OWN}"): """\
reclaiming
  instance         reclaiming-small-05
  method           lyra
  status           feasible
  preempted        2
  collateral       16
  best_bound       2, 2
  best_bound_kind  certified
  gap_to_best      87.50 % (collateral)
  seconds               T

  instance         reclaiming-small-05
  method
    own_methods:a_method_with_a_rather_long_name
  resolved_method  a_method_with_a_rather_long_name
  status           feasible
  preempted        5
  collateral       14
  best_bound       2, 2
  best_bound_kind  certified
  gap_to_best      60.00 % (preempted)
  seconds               T

""",
    (None, "lyra-fig5 -m lyra"): """\
reclaiming
  instance    method   status     preempted   collateral   best_bound   best_bound_kind        gap_to_best   seconds
 ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────
  lyra-fig5   lyra     feasible           1            0         1, 0   certified         0 % (collateral)         T

""",  # noqa: E501
}
"""By width, or for a pipe, and arguments of `compare`: what it prints, T for seconds."""
NAMES = {"wide": "服务器", "[bold]": "[bold]not markup[/]", "long": "n" * 70}
"""Odd names by file: of wide characters, of markup, wider than the terminal."""


@pytest.mark.parametrize(("width", "arguments"), GOLDEN)
def test_what_compare_prints(
    width: int | None, arguments: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Secondary columns go first, then levels that are equal; names and digits are whole."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    for file, name in NAMES.items():
        dlsched.save(dlsched.load("lyra-fig5").model_copy(update={"name": name}), f"{file}.json")
    if width is not None:
        monkeypatch.setenv("COLUMNS", str(width))
    said = run("compare", *arguments.split()).stdout
    assert re.sub(r"\d\.\d{4}\b", "     T", said) == GOLDEN[width, arguments]


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
    assert max(map(len, lines)) <= 80 and len(lines) <= 32
