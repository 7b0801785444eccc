"""A run's key follows what its result depends on: the suite, the user's own code, and dlsched's."""

import os
from pathlib import Path

import pytest

import dlsched
from calls import FIG5, python, suite_text
from sweeps import copied, keys_of

# file: text; `src_main` is the method's module
MODULES = {
    "src_main.py": "import json\nfrom src_near import step\nimport src_pack.deep as d\n"
    "def f(instance, rng, **options):\n    return step(instance)\n",
    "src_near.py": "def step(instance):\n    import src_late\n    return src_late.FOUND\n",
    "src_late.py": "FOUND = None\ndef g():\n    import importlib\n"
    "    importlib.import_module('src_named')\n",
    "src_named.py": "",
    "src_pack/__init__.py": "from . import sibling\n",
    "src_pack/sibling.py": "from .inner.leaf import *\n",
    "src_pack/inner/leaf.py": "def never():\n    from ...nowhere import nothing\n",
    "src_pack/deep.py": "def never():\n    import src_main\n",
    "src_option.py": "def g():\n    return 1\n",
    "src_other.py": "",
}
UNUSED = ("src_other.py", "src_option.py")


@pytest.fixture
def place(workdir: Path) -> Path:
    """Give a working directory with the modules and a suite of one run."""
    for name, text in MODULES.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    write_suite("src_main:f")
    return workdir


def write_suite(method: str) -> None:
    """Write a suite of one run."""
    entry = 'generate = "reclaiming"; grid = { servers = [4] }'
    Path("suite.toml").write_text(suite_text(entry, method))


def test_every_import_counts(place: Path) -> None:
    """A change in a module that is imported, however indirectly, is seen; in another it is not."""
    before = keys_of()
    for name, text in MODULES.items():
        Path(name).write_text(text + "x = 1\n")
        assert (keys_of() != before) == (name not in UNUSED), name
        Path(name).write_text(text)
    assert keys_of() == before
    Path("src_near.py").write_text(MODULES["src_near.py"].replace("step(", "step (") + "def (")
    assert keys_of() != before  # a module that cannot be parsed counts with its bytes


LIMITS = {"time_limit": 9, "wall_limit": 50, "memory_limit_gib": 1, "gap": 0.1}
CHANGES = {
    "lyra-fig5": "reclaiming-small-01", '"lyra"': '"scf"', "seeds = [1]": "seeds = [2]",
    "time_limit = 9": "time_limit = 8", "wall_limit = 50": "wall_limit = 60",
    "memory_limit_gib = 1": "memory_limit_gib = 2", "gap = 0.1": "gap = 0.2",
}  # fmt: skip


def test_key_tells_what_changed(place: Path) -> None:
    """A run's key is that of the same run, and of no other.

    The code of a function that an option names as module:function is in the key as well.
    """
    text = suite_text(FIG5, "lyra; seeds = [1]", **LIMITS)
    found = set()
    for before, after in [("", ""), *CHANGES.items()]:
        assert before in text
        Path("suite.toml").write_text(text.replace(before, after))
        (key,) = keys_of()
        assert [key] == keys_of() and key not in found
        found.add(key)
    write_suite('src_main:f; options = { also = ["src_option:g"], text = "12:30", number = 1 }')
    named = keys_of()
    Path("src_other.py").write_text("x = 1\n")
    assert keys_of() == named
    Path("src_option.py").write_text("x = 1\n")
    assert keys_of() != named


USED = (
    "registry/__init__.py", "schema/__init__.py", "results/result.py", "solvers/highs.py",
    "problems/elastic/__init__.py",
)  # fmt: skip
"""Some of what a run of `elastic` depends on."""
EDITED = """
import sys
from pathlib import Path
import dlsched
from dlsched.sweeps import read_suite

def registered(instance, rng):
    pass

registered.__module__ = "own_plugin"
dlsched.method("elastic", kind="heuristic")(registered)

def keys_of():
    return [task.key for task in read_suite("suite.toml").tasks()]

root, found = Path(dlsched.__file__).parent, [keys_of()]
assert keys_of() == found[0] and str(root) == sys.argv[1]
for name in sys.argv[2:]:
    with open(root / name, "a") as file:
        file.write("# changed\\n")
    found.append(keys_of())
    assert all(one != other for one, other in zip(found[-2], found[-1])), name
Path("own_plugin.py").write_text("x = 1\\n")
last = keys_of()
assert last[0] == found[-1][0] and last[1] != found[-1][1]
"""


def test_code_of_dlsched_and_of_other_packages(workdir: Path) -> None:
    """A change to dlsched's code, or to the package that registered a method, is seen."""
    copy = copied(Path(dlsched.__file__).parent, workdir / "other" / "dlsched")
    entry = 'generate = "elastic"; grid = { jobs = [3] }'
    Path("suite.toml").write_text(suite_text(entry, "lyra", "registered"))
    Path("own_plugin.py").write_text("")
    python(EDITED, copy, *USED, env={"PYTHONPATH": os.fspath(copy.parent)})
