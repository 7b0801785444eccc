"""Every command on terminals of 80, 100 and 160 columns: no line is wider, primary cells whole."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dlsched
from calls import suite_text
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
    f"solve {LONG}.json -o s.json": [LONG, "(exact)", "optimal", "preempted", "jobs"],
    f"solve {LONG}.json -m {OWN}": [LONG, OWN.partition(":")[2], "feasible"],
    f"verify {LONG}.json best.json": ["feasible", "preempted", "collateral"],
    f"verify {LONG}.json broken.json": ["unknown_server", "too_few_servers", f'"{UNKNOWN}"'],
    f"compare {LONG}.json elastic-354-phase2 -m exact": [
        LONG, "exact", "optimal", "elastic-354-phase2", "3,895,025"
    ],
    f"compare {LONG}.json reclaiming-520-130-flexible -m exact -m {OWN} -m own_methods:fails": [
        LONG, "reclaiming-520-130-flexible", OWN, "own_methods:fails", "error", "ValueError:"
    ],
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


@pytest.fixture(
    params=[80, *(pytest.param(n, marks=pytest.mark.slow) for n in (100, 160))],
)
def width(request: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Give the width of the terminal, in the folder."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("COLUMNS", str(request.param))
    return int(request.param)


@pytest.mark.parametrize("command", PRIMARY)
def test_command_fits(command: str, width: int) -> None:
    """No line on stdout is wider than the terminal, and what matters stands there whole."""
    ran = CliRunner().invoke(app, shlex.split(command))
    assert ran.exit_code in (0, 1), ran.output
    words = ran.stdout.split()
    for cell in PRIMARY[command]:
        assert cell in words, cell
    assert max(map(len, ran.stdout.splitlines())) <= width
