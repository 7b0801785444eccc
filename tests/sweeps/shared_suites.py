"""The suites of the sweeps that tests share, and how these are made once a session."""

import os
from collections.abc import Callable
from pathlib import Path

import filelock
import pytest

from calls import FIG5, suite_text

SMALL = 'generate = "reclaiming"; seeds = [1, 2]; grid = { servers = [5, 10, 20] }'
FINISHED = suite_text(
    [
        FIG5,
        SMALL,
        'generate = "elastic"; grid = { jobs = [4, 6, 8] }',
        'files = "odd.json"',
        'generate = "reclaiming"; grid = { servers = ["many"] }',
    ],
    "exact",
    "lyra",
    'milp; problem = "elastic"',
    'random; seeds = [0, 7]; problem = "reclaiming"',
    'mine_sweep:raises; problem = "reclaiming"',
    name="a <b>small</b> sweep",
    notes="Notes & more.",
    wall_limit=60,
)
RUNS = 9 * 5 + 3 * 3
ODD = '=HYPERLINK("../../../odd/\x00/name")'
"""The name of an instance: a formula for spreadsheets, and a path that leaves the folder."""
OWN = "def raises(instance, rng):\n    raise ValueError('<i>no</i>')\n"

SHARDED = suite_text(
    [FIG5, 'generate = "reclaiming"; seeds = [1, 2]; grid = { servers = [5, 7] }'],
    "lyra",
    "random; seeds = [0, 1]",
    "shard_mine:f",
    wall_limit=100,
)
"""Twenty runs, a fourth of them by a method in two modules of the user."""
MINE = '''
import os, time
from pathlib import Path
import shard_other

def f(instance, rng):
    """Wait in the last runs for the file `open` in the folder `GATE`, if there is one."""
    folder = Path(os.environ.get("GATE", ""))
    while "GATE" in os.environ and len(instance.servers) == 7 and not (folder / "open").exists():
        (folder / f"waiting-{os.getpid()}").touch()
        time.sleep(0.01)
    return shard_other.first(instance)
'''
OTHER = """
def first(instance):
    return {"returned": [server.id for server in instance.servers][: instance.demand]}
"""


def write_sharded(folder: Path) -> Path:
    """Write the suite of twenty runs and its modules."""
    (folder / "suite.toml").write_text(SHARDED)
    (folder / "shard_mine.py").write_text(MINE)
    (folder / "shard_other.py").write_text(OTHER)
    return folder


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[], object]) -> Path:
    """Return a folder that one process of this session makes, as its working directory."""
    base = factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with filelock.FileLock(place.with_suffix(".lock")), pytest.MonkeyPatch.context() as patch:
        if not place.with_suffix(".made").exists():
            place.mkdir()
            patch.chdir(place)
            make()
            place.with_suffix(".made").touch()
    return place
