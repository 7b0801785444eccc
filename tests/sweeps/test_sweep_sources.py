"""A run's key follows the code that its result depends on: the user's own, and dlsched's."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import dlsched
from calls import suite_text
from dlsched.execution import sources
from dlsched.registry import method
from dlsched.registry.registered import METHODS
from dlsched.sweeps import code_identity, read_suite, run_suite
from sweeps import made

# file: text; `main` is the method's module
MODULES = {
    "src_main.py": "import json\nfrom src_near import step\nimport src_pack.deep as d\n",
    "src_near.py": "def step():\n    import src_late\n    return src_late\n",
    "src_late.py": "import importlib\nimportlib.import_module('src_named')\n",
    "src_named.py": "",
    "src_pack/__init__.py": "from . import sibling\n",
    "src_pack/sibling.py": "from .inner.leaf import *\n",
    "src_pack/inner/leaf.py": "from ...nowhere import nothing\n",
    "src_pack/deep.py": "import src_main\n",
    "src_other.py": "",
}


@pytest.fixture
def place(workdir: Path) -> Path:
    """Give a working directory with the modules."""
    for name, text in MODULES.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    return workdir


def digests(place: Path) -> Mapping[str, str]:
    """Return the digests of the method's code as it is now."""
    sources.forget()
    return sources.modules_of("src_main", str(place))


@pytest.mark.parametrize("name", MODULES)
def test_every_import_counts(name: str, place: Path) -> None:
    """A change in a module that is imported, however indirectly, is seen; in another it is not."""
    before = digests(place)
    Path(name).write_text(MODULES[name] + "x = 1\n")
    assert (digests(place) != before) == (name != "src_other.py")


def test_only_own_modules_are_looked_into(place: Path) -> None:
    """Neither the standard library nor installed packages nor dlsched itself are the user's."""
    Path("src_main.py").write_text(
        "import json, numpy, dlsched, src_near\nfrom scipy import sparse\n"
    )
    found = digests(place)
    modules = {name for name in found if name.startswith("module ")}
    assert modules == {f"module src_{name}" for name in ("main", "near", "late", "named")}
    assert {name: found[name] for name in set(found) - modules} == {
        "numpy": version("numpy"), "scipy": version("scipy"),
    }  # fmt: skip


def test_broken_source_is_taken_as_it_is(place: Path) -> None:
    """A module that cannot be parsed counts with its bytes; one that is missing is nothing.

    Of another package's problem every module counts, since they are imported by their names.
    """
    before = digests(place)
    Path("src_near.py").write_text("def (")
    assert digests(place) != before
    assert sources.modules_of("src_missing", str(place)) == {}
    assert sources.modules_of("no.such", str(place)) == {}
    Path("src_pack/unnamed.py").write_text("")
    sources.forget()
    found = sources.modules_of("src_pack.*", str(place))
    parts = ("", ".sibling", ".inner.leaf", ".deep", ".unnamed")
    assert {f"module src_pack{part}" for part in parts} <= set(found)


def write_suite(method: str) -> None:
    """Write a suite of one run."""
    entry = 'generate = "reclaiming"; grid = { servers = [4] }'
    Path("suite.toml").write_text(suite_text(entry, method))


OWN = "from own_help import pick\n\ndef f(instance, rng):\n    return pick(instance)\n"
HELP = "def pick(instance):\n    return {'returned': [s.id for s in instance.servers[:WANTED]]}\n"


def test_resume_sees_a_changed_import(workdir: Path) -> None:
    """Runs are made again when a module that the method's module imports has changed."""
    write_suite("own_top:f")
    Path("own_top.py").write_text(OWN)
    Path("own_help.py").write_text(HELP.replace("WANTED", "0"))
    assert list(run_suite("suite.toml", "out")["status"]) == ["rejected"]
    assert made("suite.toml", "out", resume=True) == []
    Path("own_help.py").write_text(HELP.replace("WANTED", "instance.demand"))
    assert list(run_suite("suite.toml", "out", resume=True)["status"]) == ["feasible"]


def test_registered_methods_count_as_own(workdir: Path) -> None:
    """The code of a method that another package registered is in the key as well."""
    write_suite("registered")
    Path("own_plugin.py").write_text("")

    def registered(instance: Any, rng: Any) -> None:
        """Stand for a method of another package."""

    registered.__module__ = "own_plugin"
    method("reclaiming", kind="heuristic")(registered)
    try:
        before = read_suite("suite.toml").tasks()[0].key
        assert read_suite("suite.toml").tasks()[0].key == before
        Path("own_plugin.py").write_text("x = 1\n")
        assert read_suite("suite.toml").tasks()[0].key != before
    finally:
        del METHODS["reclaiming"]["registered"]


USED = [
    "api/solving.py",
    "sweeps/execution.py",
    "api/evaluation.py",
    "problems/elastic/exact/__init__.py",
    "registry/methods.py",
    "schema/quantities.py",
    "proofs/forms/form.py",
    "solvers/level_search.py",
    "display/table.py",
]
UNUSED = [
    "sweeps/store.py",
    "cli/solve.py",
    "problems/placement/exact/__init__.py",
    "display/plotting.py",
]


@pytest.mark.parametrize("name", USED + UNUSED)
def test_code_of_a_result(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change to a module changes the digest of an elastic run only if the run uses it."""
    assert (Path(dlsched.__file__).parent / name).is_file()
    for each in USED + UNUSED:
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / each).write_text("")
    monkeypatch.setattr(code_identity, "__file__", str(tmp_path / "sweeps" / "code_identity.py"))
    code_identity.forget()
    before = code_identity.library_digest("elastic")
    (tmp_path / name).write_text("changed = True\n")
    code_identity.forget()
    assert (code_identity.library_digest("elastic") != before) == (name in USED)
