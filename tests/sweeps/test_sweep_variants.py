"""Suites with variants: their keys, their rows, and workers that have another variant."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path

import pytest

import dlsched
from dlsched.sweeps import Store, read_suite, run_suite
from dlsched.sweeps.execution import execute
from dlsched.sweeps.statistics import evaluate_rows, gaps_by_level, improvements, summary

FILE = """
import dlsched
import pyomo.environ as pyo

first = dlsched.Level("first", "minimize", lambda m, instance: m.x[instance.servers[0].id])


@dlsched.variant("reclaiming", levels=["preempted", first])
def few(m, instance):
    m.few = pyo.Constraint(expr=sum(m.x[s.id] for s in instance.servers[:4]) <= 2)
"""
SUITE = """
name = "changed"

[[instances]]
names = ["reclaiming-small-04"]

[[instances]]
names = ["reclaiming-small-04"]
variant = "few.py:few"

[[methods]]
name = "exact"

[[methods]]
name = "lyra"
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Give a suite of one instance, as it is and with a variant."""
    (tmp_path / "few.py").write_text(FILE)
    (tmp_path / "suite.toml").write_text(SUITE)
    return tmp_path / "suite.toml"


def test_rows_say_which_variant_was_solved(suite: Path) -> None:
    """With name and digest; the keys of its runs are others, and so are records and levels."""
    tasks = [pickle.loads(pickle.dumps(task)) for task in read_suite(suite).tasks()]
    assert len({task.key for task in tasks}) == 4
    rows = [execute(task).row for task in tasks]
    assert [row["status"] for row in rows] == ["optimal", "feasible", "optimal", "feasible"]
    assert [row["variant"] for row in rows] == [None, None, "few", "few"]
    sha256 = json.loads(rows[2]["record"])["variant"]["sha256"]
    assert [row["variant_sha256"] for row in rows] == [None, None, sha256, sha256]
    assert list(json.loads(rows[2]["objective"])) == ["preempted", "first"]
    runs = evaluate_rows(rows)
    assert list(summary(runs)["method"]) == ["exact", "lyra", "exact on few", "lyra on few"]
    assert list(gaps_by_level(runs)["level"])[-2:] == ["preempted", "first"]
    assert not any(run.row["refuted"] for run in runs)
    assert improvements(runs) == []


def test_a_worker_with_another_variant_makes_no_run(suite: Path) -> None:
    """The row says both digests, and is made again by a sweep that goes on."""
    task = read_suite(suite).tasks()[2]
    (suite.parent / "few.py").write_text(FILE.replace("<= 2", "<= 1"))
    row = execute(task).row
    assert row["status"] == "changed"
    assert task.instance.variant.sha256[:12] in row["reason"]
    assert read_suite(suite).tasks()[2].key != task.key
    (suite.parent / "few.py").unlink()
    assert "cannot be loaded here" in execute(task).row["reason"]


@pytest.mark.parametrize(
    ("old", "new", "field", "said"),
    [
        ("few.py:few", "none.py:few", "instances[1].variant", "cannot be loaded"),
        ("few.py:few", "few.py:first", "instances[1].variant", "is a Level"),
        ('"lyra"', '"densest_of_all"', "methods[1].name", "densest_of_all"),
        (
            '"reclaiming-small-04"]\nvariant',
            '"elastic-small-01"]\nvariant',
            "instances[1].variant",
            "is for reclaiming",
        ),
    ],
)
def test_a_flaw_names_its_field(suite: Path, old: str, new: str, field: str, said: str) -> None:
    """Before the first run."""
    suite.write_text(suite.read_text().replace(old, new))
    with pytest.raises(dlsched.InstanceError) as error:
        read_suite(suite)
    assert field in str(error.value)
    assert said in str(error.value)


@pytest.mark.slow
def test_a_sweep_of_worker_processes_and_a_store_of_before(suite: Path) -> None:
    """Another process finds the variant; a store without its columns gets them."""
    out = suite.parent / "out"
    with Store(out, write=True) as store:
        for name in ("variant", "variant_sha256"):
            store.base.execute("DROP VIEW IF EXISTS results")
            store.base.execute(f"ALTER TABLE runs DROP COLUMN {name}")
    frame = run_suite(suite, out, resume=True)
    assert frame["variant"].dropna().tolist() == ["few", "few"]
    assert set(frame["status"]) == {"optimal", "feasible"}


def loaded_anew() -> None:
    """Forget the suite's modules, as a new process does."""
    for name in [name for name in sys.modules if "_of_few" in name]:
        del sys.modules[name]


def test_keys_follow_what_a_variants_file_imports(suite: Path) -> None:
    """And which variant of a file it is, also where two have one name."""
    (suite.parent / "few.py").write_text(f"import rules_of_few\n{FILE}\n\nalso = few\n")
    text = suite.read_text() + '[[instances]]\nnames = ["reclaiming-small-04"]\n'
    suite.write_text(text + 'variant = "few.py:also"\n')
    keys = []
    for limit in (1, 2, 1):
        (suite.parent / "rules_of_few.py").write_text(f"LIMIT = {limit}\n")
        tasks = read_suite(suite).tasks()
        assert len({task.key for task in tasks}) == 6
        keys.append([task.key for task in tasks])
        loaded_anew()
    assert keys[0] == keys[2]
    assert keys[0][:2] == keys[1][:2]  # of the problem itself
    assert not set(keys[0][2:]) & set(keys[1])


def test_a_variant_without_identity_is_a_flaw(suite: Path) -> None:
    """Its runs would have no key."""
    opaque = FILE.replace("    m.few", "    given\n    m.few").replace(
        "instance):", "instance, given=object()):"
    )
    (suite.parent / "few.py").write_text(opaque)
    with pytest.raises(dlsched.InstanceError, match=r'instances\[1\].variant.*state version="1"'):
        read_suite(suite)
    stated = opaque.replace("first])\n", 'first], version="1")\n')
    (suite.parent / "few.py").write_text(stated)
    assert len(read_suite(suite).tasks()) == 4


def test_runs_of_other_models_are_not_compared(suite: Path) -> None:
    """Although files and name are the same: a data file was another one."""
    data = suite.parent / "limit.txt"
    text = FILE.replace("<= 2", f"<= int(open({str(data)!r}).read())")
    (suite.parent / "few.py").write_text(text)
    rows = []
    for limit in (0, 4):
        data.write_text(str(limit))
        task = read_suite(suite).tasks()[2]
        rows.append(execute(task).row | {"key": limit})
        loaded_anew()
    assert rows[0]["variant_sha256"] == rows[1]["variant_sha256"]
    assert rows[0]["objective"] != rows[1]["objective"]
    assert [run.row["refuted"] for run in evaluate_rows(rows)] == ["", ""]
    assert all(run.at_optimum for run in evaluate_rows(rows))
