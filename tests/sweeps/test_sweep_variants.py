"""Suites with variants: their keys, their rows, and workers that have another variant."""

import sys
from pathlib import Path

import pytest

from calls import data, refusal, run, suite_text
from sweeps import edit, keys_of, made, rows

FILE = """
import dlsched
import pyomo.environ as pyo

first = dlsched.Level("first", "minimize", lambda m, instance: m.x[instance.servers[0].id])


@dlsched.variant("reclaiming", levels=["preempted", first])
def few(m, instance):
    m.few = pyo.Constraint(expr=sum(m.x[s.id] for s in instance.servers[:4]) <= 2)
"""
NAMES = 'names = ["reclaiming-small-04"]'
SUITE = suite_text([NAMES, f'{NAMES}; variant = "few.py:few"'], "exact", "lyra")
COMMAND = ["bench", "suite.toml", "-o", "out"]


@pytest.fixture
def folder(workdir: Path) -> Path:
    """Give a suite of one instance, as it is and with a variant."""
    Path("few.py").write_text(FILE)
    Path("suite.toml").write_text(SUITE)
    return workdir


def test_rows_say_which_variant_was_solved(folder: Path) -> None:
    """With name and digest, in keys, rows and tables; runs of different models are not compared."""
    made()
    found = data(*COMMAND, "--resume")
    assert [row["status"] for row in found] == ["optimal", "feasible"] * 2
    assert [row.get("variant") for row in found] == [None, None, "few", "few"]
    assert len({row["key"] for row in found}) == 4 and not any(row["refuted"] for row in found)
    assert {"preempted", "first"} <= {name for name, v in found[2].items() if v is not None}
    assert found[2]["gap"] == 0 and found[2]["variant_sha256"] == found[3]["variant_sha256"]
    shown = run(*COMMAND, "--resume").stdout
    assert "exact on few" in shown and "lyra on few" in shown
    before = keys_of()
    Path("few.py").write_text(FILE.replace("<= 2", "<= 1"))
    assert keys_of()[:2] == before[:2] and set(keys_of()[2:]).isdisjoint(before)


@pytest.mark.slow
def test_a_worker_with_another_variant_makes_no_run(folder: Path) -> None:
    """The row says so, and is made again by a sweep that goes on."""
    made(do=lambda: Path("few.py").write_text(FILE.replace("<= 2", "<= 1")))
    assert [row["status"] for row in rows()] == ["optimal", "feasible", "changed", "changed"]
    assert rows()[2]["variant_sha256"][:12] in rows()[2]["reason"]
    Path("few.py").write_text(FILE)
    assert [row["status"] for row in made(resume=True)] == ["optimal", "feasible"]


UNSTATED = "ce, given=(n for n in ())):"  # which cannot be pickled
OPAQUE = FILE.replace("    m.few", "    given\n    m.few").replace("ce):", UNSTATED)


@pytest.mark.parametrize(
    ("file", "suite", "field", "said"),
    [
        (FILE, SUITE.replace("few.py:few", "none.py:few"), "instances[1].variant", "be loaded"),
        (FILE, SUITE.replace("few.py:few", "few.py:first"), "instances[1].variant", "is a Level"),
        (FILE, SUITE.replace('"lyra"', '"none"'), "methods[1].name", "none"),
        (FILE, SUITE.replace("reclaiming-", "elastic-"), "instances[1].variant", "for reclaiming"),
        (OPAQUE, SUITE, "instances[1].variant", 'state version="1"'),
    ],
)
def test_a_flaw_names_its_field(folder: Path, file: str, suite: str, field: str, said: str) -> None:
    """Before the first run; a variant without identity is one, as its runs would have no key."""
    Path("few.py").write_text(file)
    Path("suite.toml").write_text(suite)
    error = refusal(*COMMAND)
    assert field in error and said in error and not Path("out").exists()
    Path("few.py").write_text(OPAQUE.replace("first])\n", 'first], version="1")\n'))
    Path("suite.toml").write_text(SUITE)
    assert len(keys_of()) == 4


def loaded_anew() -> None:
    """Forget the suite's modules, as a new process does."""
    for name in [name for name in sys.modules if "_of_few" in name]:
        del sys.modules[name]


def test_keys_follow_what_a_variants_file_imports(folder: Path) -> None:
    """And which variant of a file it is, also where two have one name."""
    Path("few.py").write_text(f"import rules_of_few\n{FILE}\n\nalso = few\n")
    Path("suite.toml").write_text(f'{SUITE}[[instances]]\n{NAMES}\nvariant = "few.py:also"\n')
    found = []
    for limit in (1, 2, 1):
        Path("rules_of_few.py").write_text(f"LIMIT = {limit}\n")
        found.append(keys_of())
        assert len(set(found[-1])) == 6
        loaded_anew()
    assert found[0] == found[2]
    assert found[0][:2] == found[1][:2]  # of the problem itself
    assert not set(found[0][2:]) & set(found[1])


@pytest.mark.slow
def test_runs_of_other_models_are_not_compared(folder: Path) -> None:
    """Although files and name are the same: a data file was another one."""
    limit = folder / "limit.txt"
    Path("few.py").write_text(FILE.replace("<= 2", f"<= int(open({str(limit)!r}).read())"))
    limit.write_text("4")
    made()
    loose, other = rows()[2:]
    limit.write_text("0")
    edit("out", loose["key"], status="killed")
    (strict,) = made(resume=True)
    assert strict["variant_sha256"] == other["variant_sha256"] == loose["variant_sha256"]
    assert strict["objective"] != loose["objective"]
    found = data(*COMMAND, "--resume")
    assert not any(row["refuted"] for row in found) and found[2]["at_optimum"]
