"""A row is stored under its key only if the planned code made it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from calls import python, suite_text
from dlsched.solvers.pyomo_backend import PyomoBackend
from dlsched.sweeps import code_identity, pools, read_suite, recorder, run_suite
from dlsched.sweeps.code_identity import code_of, differences
from sweeps import made, returned, stored

FOUR = 'generate = "reclaiming"; seeds = [1, 2, 3, 4]; grid = { servers = [6], demand = [2] }'
SUITE = suite_text(FOUR, "planned_mine:f", wall_limit=100)
"""Four runs of the user's method."""
FIRST, LAST = "[: instance.demand]", "[-instance.demand :]"
OWN = "def f(instance, rng):\n    return {'returned': [s.id for s in instance.servers]PART}\n"
LATE = """
from pathlib import Path

def f(instance, rng):
    place = Path(__file__).with_name("planned_late.py")
    place.write_text(place.read_text() + "# edited\\n")
    import planned_late
    return planned_late.f(instance, rng)
"""
DIES_ONCE = """
import os
from pathlib import Path

def f(instance, rng):
    place = Path(__file__)
    if not place.with_name("edited").exists():
        place.with_name("edited").touch()
        place.write_text(place.read_text() + "# edited\\n")
        os.kill(os.getpid(), 9)
    return {"returned": [s.id for s in instance.servers][: instance.demand]}
"""
RECORDED = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("recorder", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
recorder = module.Recorder()
recorder.begin()
sys.path.insert(0, ".")
"""
QUICK = """
import os, hashlib
from pathlib import Path
import py_compile
text = "value = 1\\n"
for value in (1, 2):
    Path("planned_quick.py").write_text(f"value = {value}\\n")
    os.utime("planned_quick.py", (10**9, 10**9))
    if value == 1:
        py_compile.compile("planned_quick.py")
import planned_quick
assert planned_quick.value == 2
digest = hashlib.sha256(Path("planned_quick.py").read_bytes()).hexdigest()
assert recorder.seen["planned_quick"] == digest
recorder.seen["planned_other"] = digest
Path("planned_other.py").write_text("value = 3\\n")
try:
    import planned_other
except ImportError as error:
    assert "has changed" in str(error) and recorder.refused == ["planned_other"]
else:
    raise AssertionError
"""


@pytest.fixture(autouse=True)
def place(workdir: Path) -> Path:
    """Give a working directory with a suite of four runs of the user's method."""
    for name in ("planned_mine", "planned_late"):
        sys.modules.pop(name, None)
    Path("suite.toml").write_text(SUITE)
    write(OWN)
    return workdir


def write(text: str, part: str = FIRST, name: str = "planned_mine") -> None:
    """Write a module of the user."""
    Path(f"{name}.py").write_text(text.replace("PART", part))


def planned_digest() -> str:
    """Return the beginning of the digest of the user's module as it is now."""
    return read_suite("suite.toml").tasks()[0].code["module planned_mine"][:12]


def test_edited_between_plan_and_start() -> None:
    """If the file is edited after the plan the sweep ends with both digests; nothing is stored."""
    before = planned_digest()
    with pytest.raises(pools.NoWorker, match="worker process 1 of this machine") as caught:
        run_suite("suite.toml", "out", on_plan=lambda _: write(OWN, LAST))
    said = f"module planned_mine is {planned_digest()}, planned is {before}"
    assert said in str(caught.value) and "--resume" in str(caught.value)
    assert stored("out") == []


@pytest.mark.slow
def test_edited_while_a_process_has_it() -> None:
    """A process that has imported the planned code goes on with it when the file is edited."""
    run_suite("suite.toml", "out", on_row=lambda row, left: write(OWN, LAST))
    before = returned("out")
    assert len(before) == len(made("suite.toml", "out", resume=True)) == 4
    assert all(one != other for one, other in zip(before, returned("out"), strict=True))


@pytest.mark.slow
def test_edited_before_a_dead_process_is_replaced() -> None:
    """The new process would have other code than planned, so the sweep ends instead."""
    write(DIES_ONCE)
    with pytest.raises(pools.NoWorker, match="module planned_mine is"):
        run_suite("suite.toml", "out")
    assert stored("out") == []  # the run was to be made again
    assert list(run_suite("suite.toml", "out", resume=True)["status"]) == ["feasible"] * 4


@pytest.mark.slow
def test_edited_before_a_late_import() -> None:
    """A module that is edited after it was looked at is not imported, and the run not stored."""
    write(LATE)
    write(OWN, name="planned_late")
    with pytest.raises(pools.NoWorker, match="planned_late changed before it was imported"):
        run_suite("suite.toml", "out")
    assert stored("out") == []


@pytest.mark.slow
def test_import_that_fails_there_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no process can import the user's module, the sweep ends; there are no rows of errors."""
    write("import os\nif 'PLANNED_ABSENT' in os.environ:\n    import nowhere\n" + OWN)
    monkeypatch.setenv("PLANNED_ABSENT", "yes")
    Path("suite.toml").write_text(suite_text(FOUR, "lyra"))
    planned = read_suite("suite.toml")
    task = planned.tasks()[0]
    own = type(task).planned(task.instance, "planned_mine:f", {}, 0, 0, task.limits, task.folder)
    monkeypatch.setattr(type(planned), "tasks", lambda self: [own])
    with pytest.raises(pools.NoWorker, match="ModuleNotFoundError: No module named 'nowhere'"):
        run_suite(planned, "out")
    assert stored("out") == []


def test_recorder(place: Path) -> None:
    """Stale bytecode of the same size and time is not used, and changed sources are refused."""
    python(RECORDED + QUICK, recorder.__file__)


def test_differences_in_words() -> None:
    """What differs is named with both values; digests are shortened."""
    planned = {"numpy": "2.1", "module mine": "a" * 64, "python": "3.12.1"}
    found = {"numpy": "2.2", "module mine": "b" * 64, "python": "3.12.1"}
    assert differences(planned, planned) == ""
    assert differences(planned, found) == (
        f"module mine is {'b' * 12}, planned is {'a' * 12}; numpy is 2.2, planned is 2.1"
    )
    del found["module mine"]
    assert differences(planned, found).startswith("module mine is not there, planned is aaa")


def test_functions_named_by_options(place: Path) -> None:
    """A function that an option names as module:function counts like the method."""
    write("", name="planned_late")
    code_identity.forget()
    options = {"start": ["planned_late:g"], "text": "12:30", "number": 1}
    found = code_of("reclaiming", "lyra", options, str(place))
    assert {name for name in found if name.startswith("module ")} == {"module planned_late"}
    assert not code_identity.has_own_modules(code_of("reclaiming", "lyra", {}, str(place)))


def test_versions_of_other_solvers(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version of a solver other than HiGHS is part of the code of its runs, and of no other."""
    code_identity.forget()
    before = code_of("reclaiming", "milp", {}, str(place))
    monkeypatch.setattr(PyomoBackend, "version", "9.9")
    code_identity.forget()
    assert code_of("reclaiming", "milp", {}, str(place)) == before
    other = code_of("reclaiming", "milp", {}, str(place), "appsi_highs")
    assert other == {**before, "solver appsi_highs": "9.9"}
