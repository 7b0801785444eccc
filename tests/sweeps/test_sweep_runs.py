"""Runs of a suite: rows, files and resuming."""

from __future__ import annotations

import concurrent.futures
import csv
import json
from pathlib import Path
from typing import Any

import pytest

import dlsched
from calls import data, refusal, run, suite_text
from dlsched.doctor import api
from dlsched.registry import Method
from dlsched.sweeps import Store, pools, read_suite, run_suite, statistics, worker_process
from dlsched.sweeps.execution import execute
from dlsched.sweeps.instance_spec import InstanceSpec
from sweeps import made, settled, stored

FOUR = 'generate = "reclaiming"; seeds = [1, 2]; grid = { servers = [5, 6], demand = [1] }'
RANDOM = "random; seeds = [0, 7]"
SUITE = suite_text(FOUR, "exact", RANDOM, "milp; options = { levels = 1 }", time_limit=30)
LIGHT = suite_text(FOUR, "lyra", RANDOM, "scf", time_limit=30)
"""The same number of runs, for which no worker loads a solver."""
OWN = """
import os, time
from pathlib import Path
import numpy as np
from dlsched import Claim
from dlsched.problems.reclaiming import Solution

def raises(instance, rng):
    raise KeyError("no such server")

def false_objective(instance, run):
    ids = [s.id for s in instance.servers]
    found = Solution(instance=instance.name, returned=ids[: instance.demand])
    return Claim(solution=found, objective=(-1, 0))

def unsteady(instance, rng):
    ids, rng = [s.id for s in instance.servers], np.random.default_rng()
    return Solution(instance=instance.name, returned=list(rng.permutation(ids))[: instance.demand])

def talkative(instance, rng):
    os.write(2, b"z" * 1_000_000)
    limited = Path(__file__).with_name("limited").exists()
    while os.fstat(2).st_blocks * 512 > 100_000:
        if not limited:
            raise ValueError("all output is on the disk")
        time.sleep(0.01)
    return {"returned": [s.id for s in instance.servers[: instance.demand]]}
"""


def one(method: str, servers: int = 5, **head: Any) -> str:
    """Return a suite of one instance, with one of the methods between two of dlsched."""
    entry = f'generate = "reclaiming"; grid = {{ servers = [{servers}] }}'
    return suite_text(entry, "scf", f"mine_bench:{method}", "lyra", wall_limit=300, **head)


@pytest.fixture(autouse=True)
def small(folder: Path, shared_workers: None) -> None:
    """Give a suite of 16 runs, and a module of methods that misbehave."""
    Path("suite.toml").write_text(LIGHT)
    Path("mine_bench.py").write_text(OWN)


def test_run_leaves_results() -> None:
    """Rows, records, table and solutions agree with each other and with the checker."""
    Path("suite.toml").write_text(SUITE)
    seen: list[Any] = []
    frame = run_suite("suite.toml", "out", on_row=lambda row, left: seen.append((row, left)))
    table = list(csv.DictReader(Path("out/results.csv").read_text().splitlines()))
    assert len(frame) == len(table) == len(seen) == 16
    assert [left for _, left in seen] == list(range(15, -1, -1))
    assert list(frame["method"][:4]) == ["exact", "random", "random", "milp"]
    assert list(frame["resolved_method"][:4]) == ["milp", "random", "random", "milp"]
    assert list(frame["seed"][:4]) == [0, 0, 7, 0]
    assert frame["options"][3] == '{"levels": 1}'
    instances = {spec.name: spec.make() for spec in read_suite("suite.toml").instance_specs}
    with Store("out") as store:
        assert store.planned == 16 and store.about["suite"] == "small"
        for row in store.rows():
            instance = instances[row["instance"]]
            assert (row["instance_sha256"], row["size"]) == (instance.sha256, len(instance.servers))
            file = store.solution_file(row["solution_sha256"])
            report = dlsched.verify(instance, dlsched.load_solution(file))
            assert report.feasible and report.objective is not None
            assert json.loads(row["objective"]) == report.objective.as_dict()
            assert json.loads(row["versions"])["dlsched"] == dlsched.__version__
            assert row["peak_memory_bytes"] > 2**20 and row["machine"] and row["started"]


def test_printing_does_not_fill_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a method prints beyond a limit is thrown away while it runs."""
    Path("suite.toml").write_text(one("talkative"))
    assert list(run_suite("suite.toml", "kept")["status"]) == ["feasible", "error", "feasible"]
    monkeypatch.setattr(worker_process, "MOST_BYTES_PRINTED", 10_000)
    Path("limited").touch()  # the method waits until its output is gone
    assert list(run_suite("suite.toml", "out")["status"]) == ["feasible"] * 3


def test_unsteady_method_is_a_finding() -> None:
    """Repetitions with one seed and unlike answers are reported; a steady method is not."""
    Path("suite.toml").write_text(one("unsteady", servers=60, repetitions=3))
    run_suite("suite.toml", "out")
    (said,) = statistics.unsteady(statistics.evaluate_rows(stored("out")))
    assert said.startswith("mine_bench:unsteady is not deterministic: ")


def test_own_error_in_an_instance_is_a_row() -> None:
    """A generator that refuses its parameters fails that run, with its message."""
    Path("suite.toml").write_text(LIGHT.replace("[5, 6]", '[5, "many"]'))
    frame = run_suite("suite.toml", "out")
    bad = frame[frame["instance"].str.contains("many")]
    assert set(bad["status"]) == {"error"} and len(bad) == 8
    assert set(frame[~frame["instance"].str.contains("many")]["status"]) == {"feasible"}


def test_interrupted_run_keeps_what_it_had() -> None:
    """After an interruption the finished runs are on disk, and resuming makes the others."""
    seen = []

    def stop(row: dict[str, Any], left: int) -> None:
        seen.append(row)
        if len(seen) == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_suite("suite.toml", "out", on_row=stop)
    assert len(stored("out")) == 6
    assert len(Path("out/results.csv").read_text().splitlines()) == 7
    later = {row["key"] for row in made("suite.toml", "out", resume=True)}
    assert len(later) == 10 and not later & {row["key"] for row in seen}
    run_suite("suite.toml", "whole")
    assert settled("out") == settled("whole")


def test_interrupt_keeps_what_has_just_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that ended just before Ctrl-C are stored, too."""
    wait = pools.wait

    def interrupted(running: Any, **_: Any) -> None:
        wait(running)  # both submitted runs
        raise KeyboardInterrupt

    monkeypatch.setattr(pools, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_suite("suite.toml", "out", jobs=2)
    assert len(settled("out")) == 2


def test_resume_runs_what_changed() -> None:
    """Only new runs are made; what is no longer asked for is hidden, and not lost."""
    run_suite("suite.toml", "out")
    Path("suite.toml").write_text(LIGHT.replace("seeds = [0, 7]", "seeds = [7, 8]"))
    assert [row["seed"] for row in made("suite.toml", "out", resume=True)] == [8, 8, 8, 8]
    rows = stored("out")
    assert len(rows) == 16
    assert 0 not in {row["seed"] for row in rows if row["method"] == "random"}
    Path("suite.toml").write_text(LIGHT)
    assert made("suite.toml", "out", resume=True) == []


def test_results_are_not_overwritten() -> None:
    """Results need --resume, another program's file is refused always; both stay as they are."""
    run_suite("suite.toml", "out")
    before = Path("out/results.sqlite").read_bytes()
    assert "add --resume" in refusal("bench", "suite.toml", "-o", "out")
    assert Path("out/results.sqlite").read_bytes() == before
    for content in (b"no database", b""):
        Path("out").mkdir(exist_ok=True)
        Path("out/results.sqlite").write_bytes(content)
        with pytest.raises(dlsched.InstanceError, match="not what this version of dlsched writes"):
            Store("out")
        assert Path("out/results.sqlite").read_bytes() == content


def test_two_sweeps_do_not_mix() -> None:
    """While one sweep writes to a folder, another is refused; readers are not."""
    with Store("out", write=True) as store:
        store.plan([], {})
        with pytest.raises(dlsched.InstanceError, match="another sweep is writing there"):
            run_suite("suite.toml", "out", resume=True)
        with Store("out") as reader:
            assert reader.rows() == []


@pytest.mark.slow
def test_fresh_processes_give_the_same_rows() -> None:
    """A new process for every run changes nothing but times and memory."""
    Path("suite.toml").write_text(LIGHT.replace("[1, 2]", "[1]").replace("[5, 6]", "[5]"))
    run_suite("suite.toml", "out")
    run_suite("suite.toml", "fresh", fresh=True, jobs=2)
    assert settled("out") == settled("fresh")


def test_rows_that_arrive_together_are_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows have the order of the tasks where the reader of them was kept waiting."""
    monkeypatch.setattr(pools, "wait", lambda running, **_: concurrent.futures.wait(running))
    keys = [row["key"] for row in made("suite.toml", "out", jobs=3)]
    assert keys == [task.key for task in read_suite("suite.toml").tasks()]


def test_names_cannot_leave_the_folder() -> None:
    """An instance's name never becomes a path."""
    odd = dlsched.generate("reclaiming", servers=3).to_data() | {"name": "../../../odd/\x00/name"}
    Path("odd.json").write_text(json.dumps(odd))
    Path("suite.toml").write_text(suite_text('files = "odd.json"', "lyra"))
    assert list(run_suite("suite.toml", "out")["status"]) == ["feasible"]
    assert {p.parents[1] for p in Path("out").rglob("*.gz")} == {Path("out/solutions")}


def test_bench_command() -> None:
    """The command shows a line per method; it says 1 if a run failed, 3 if one was rejected."""
    Path("suite.toml").write_text(SUITE)
    rows = data("bench", "suite.toml", "-o", "out")
    assert len(rows) == 16
    assert all(row["gap"] == 0 for row in rows if row["resolved_method"] == "milp")
    shown = run("bench", "suite.toml", "-o", "out", "--resume").stdout
    assert 'milp {"levels": 1}' in shown and "8 certified" in shown
    for name, code in (("raises", 1), ("false_objective", 3)):
        Path("suite.toml").write_text(one(name))
        shown = run("bench", "suite.toml", "-o", name, status=code).stdout
        assert f"mine_bench:{name}: " in shown


def test_limits_count_from_the_method() -> None:
    """A run's clock starts when its instance is made and its method is compiled, not before."""
    Path("suite.toml").write_text(LIGHT)
    task = read_suite("suite.toml").tasks()[0]
    order: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        true_make, true_load, true_solve = InstanceSpec.make, Method.load, api.attempt
        patch.setattr(InstanceSpec, "make", lambda self: order.append("make") or true_make(self))
        patch.setattr(Method, "load", lambda *a: order.append("load") or true_load(*a))
        patch.setattr(api, "attempt", lambda *a, **k: order.append("solve") or true_solve(*a, **k))
        outcome = execute(task, lambda: order.append("begin"))
    assert order[:4] == ["make", "load", "begin", "solve"]
    assert outcome.row["status"] == "feasible"
