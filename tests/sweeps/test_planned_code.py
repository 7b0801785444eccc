"""A row is stored under its key only if the planned code made it, whatever is edited meanwhile."""

import os
import py_compile
from collections.abc import Callable
from pathlib import Path

import pytest

from calls import suite_text
from sweeps import failed, keys_of, made, returned, rows

FOUR = 'generate = "reclaiming"; seeds = [1, 2, 3, 4]; grid = { servers = [6], demand = [2] }'
FIRST, LAST = "[: instance.demand]", "[-instance.demand :]"
OWN = "def f(instance, rng):\n    return {'returned': [s.id for s in instance.servers]PART}\n"
LATE = """
from pathlib import Path

def f(instance, rng):
    place = Path(__file__).with_name("planned_late.py")
    place.write_text(place.read_text().replace("[: i", "[-i").replace("d]", "d :]"))
    import planned_late
    return planned_late.f(instance, rng)
"""
DIES_ONCE = """
import os
from pathlib import Path

KEPT = slice(0, 2)

def f(instance, rng):
    place = Path(__file__)
    if not place.with_name("edited").exists():
        place.with_name("edited").touch()
        place.write_text(place.read_text().replace("slice(0, 2)", "slice(-2, None)", 1))
        os.kill(os.getpid(), 9)
    return {"returned": [s.id for s in instance.servers][KEPT]}
"""


@pytest.fixture(autouse=True)
def place(workdir: Path) -> None:
    """Write a suite of four runs of the user's method."""
    Path("suite.toml").write_text(suite_text(FOUR, "planned_mine:f", wall_limit=100))
    write(OWN)


def write(text: str, part: str = FIRST, name: str = "planned_mine") -> None:
    """Write a module of the user, which returns the first servers, or the last ones."""
    Path(f"{name}.py").write_text(text.replace("PART", part))


def nothing() -> None:
    """Edit nothing: the method itself does."""


def edit() -> None:
    """Edit the method, which returns the last servers then."""
    write(OWN, LAST)


# what: (the method, after how many rows it is edited, by what)
EDITS: dict[str, tuple[str, int, Callable[[], None]]] = {
    "before the first run": (OWN, 0, edit),
    "while a process has it": (OWN, 1, edit),
    "before a dead process is replaced": (DIES_ONCE, 0, nothing),
    "before a late import": (LATE, 0, nothing),
}


FIRST_OF, *OTHERS = EDITS


@pytest.mark.parametrize(
    "what", [FIRST_OF, *(pytest.param(what, marks=pytest.mark.slow) for what in OTHERS)]
)
def test_edited_during_the_sweep(what: str) -> None:
    """Either the planned code makes all runs, or the sweep ends and says what has changed.

    What is stored is by the planned code, and `resume` makes the runs of the edited one.
    """
    text, after, action = EDITS[what]
    write(text)
    write(OWN, name="planned_late")
    before = keys_of()
    said = failed(after=after, do=action)
    assert [kept["key"] for kept in rows()] == ([] if said else before)
    if said:
        assert "planned_" in said and "4 runs were not made" in said and "--resume" in said
    assert all(servers == ["s1", "s2"] for servers in returned())
    write(OWN, LAST)
    write(OWN, name="planned_late")
    assert len(made(resume=True)) == 4 and set(keys_of()).isdisjoint(before)
    assert all(servers == ["s5", "s6"] for servers in returned())
    assert made(resume=True) == []


READS = """
from pathlib import Path
KEPT = int(Path(__file__).parent.joinpath("tables", "n.txt").read_text())
"""


def test_data_files(caplog: pytest.LogCaptureFixture) -> None:
    """A package's are copied as they are at the start; a module alone has a warning."""
    data = Path("planned_pack/tables/n.txt")
    data.parent.mkdir(parents=True)
    Path("planned_pack/__init__.py").touch()
    data.write_text("2")
    write(READS + OWN, "[:KEPT]", "planned_pack/mine")
    Path("suite.toml").write_text(suite_text(FOUR, "planned_pack.mine:f", wall_limit=100))
    assert not failed(do=lambda: data.write_text("0")) and "__file__" not in caplog.text
    assert all(servers == ["s1", "s2"] for servers in returned())
    write("HERE = __file__\n" + OWN)
    Path("suite.toml").write_text(suite_text(FOUR, "planned_mine:f", wall_limit=100))
    assert not failed(out="other")
    assert "planned_mine.py has __file__ and is in no package: files beside it" in caplog.text


@pytest.mark.slow
def test_missing_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no worker can import the user's module, the sweep ends; there are no rows of errors."""
    monkeypatch.setenv("PLANNER", str(os.getpid()))
    here = "import os\nif str(os.getpid()) != os.environ['PLANNER']:\n    import nowhere\n"
    write(here + OWN)
    assert "ModuleNotFoundError: No module named 'nowhere'" in failed()
    assert rows() == []


@pytest.mark.slow
def test_stale_bytecode() -> None:
    """Bytecode of another source with the same size and time is not what a worker runs."""
    write("import planned_late\n\n\ndef f(*given):\n    return planned_late.f(*given)\n")
    both = [text.ljust(20) for text in (LAST, FIRST)]
    for i, part in enumerate(both):
        write(OWN, part, "planned_late")
        os.utime("planned_late.py", (10**9, 10**9))
        if not i:
            py_compile.compile("planned_late.py")
    made()
    assert all(servers == ["s1", "s2"] for servers in returned())
