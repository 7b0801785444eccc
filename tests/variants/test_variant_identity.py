"""The identity of a variant: which edits, values and versions change it, and where it is needed."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pyomo.environ as pyo
import pytest

import dlsched
from dlsched import OptionError
from dlsched.execution import sources
from dlsched.proofs.check import InvalidProof
from dlsched.variants import Variant, find_variant

NAME = "reclaiming-small-04"
FILES = {
    "ident_few.py": """import dlsched
import pyomo.environ as pyo

from ident_pack.rules import LIMITS


def at_most(limits):
    def constrain(m, instance):
        m.few = pyo.Constraint(expr=sum(m.x.values()) <= 9 + len(limits))

    return dlsched.Variant("reclaiming", "few", constrain)


few = at_most(LIMITS)
if __name__ == "__main__":
    print(few.sha256)
""",
    "ident_pack/__init__.py": "",
    "ident_pack/rules.py": "def late():\n    from . import data\n\n\nLIMITS = {'a', 'b', 3}\n",
    "ident_pack/data.py": "",
    "ident_other.py": "",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder with a variant's file and what it imports."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "ident_pack").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def identity(folder: Path) -> str | None:
    """Return the identity of the file's variant, as a new process has it."""
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(folder)):
            del sys.modules[name]
    return find_variant(f"{folder / 'ident_few.py'}:few").sha256


@pytest.mark.parametrize("name", FILES)
def test_edits_of_what_a_variant_imports_change_it(name: str, folder: Path) -> None:
    """However indirectly; of another file beside it they do not."""
    before = identity(folder)
    (folder / name).write_text(FILES[name] + "# edited\n")
    assert (identity(folder) != before) == (name != "ident_other.py")
    (folder / name).write_text(FILES[name])
    assert identity(folder) == before is not None


def test_a_file_has_one_identity(folder: Path) -> None:
    """Run, imported or given as a path, in processes that order sets differently."""
    printed = "print(few.sha256)"
    calls = [
        ["ident_few.py"],
        ["-c", f"from ident_few import few; {printed}"],
        [
            "-c",
            f"from dlsched.variants import find_variant as f; few=f('ident_few:few'); {printed}",
        ],
    ]
    known = {identity(folder)}
    for seed, call in enumerate(calls):
        environment = os.environ | {"PYTHONHASHSEED": str(seed)}
        command = [sys.executable, *call]
        ran = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=True
        )
        known.add(ran.stdout.strip())
    assert len(known) == 1


def test_a_file_that_is_edited_later_is_as_it_was_loaded(folder: Path) -> None:
    """The function of before runs, with the identity of before."""
    loaded = find_variant(f"{folder / 'ident_few.py'}:few")
    before = loaded.sha256
    (folder / "ident_few.py").write_text(FILES["ident_few.py"].replace("<=", ">="))
    assert dlsched.solve(NAME, variant=loaded).variant.sha256 == before
    assert identity(folder) != before


def test_an_installed_package_has_its_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the package that states a variant, as of a file of one's own."""
    monkeypatch.setattr(sources, "_foreign_folders", lambda: (folder,))
    before = identity(folder)
    (folder / "ident_few.py").write_text(FILES["ident_few.py"] + "\n")
    assert identity(folder) != before


@dataclass
class Limit:
    """Data with a method."""

    most: int

    def constrain(self, m: Any, instance: Any) -> None:
        """Limit the servers."""
        m.few = pyo.Constraint(expr=sum(m.x.values()) <= self.most)

    def __call__(self, m: Any, instance: Any) -> None:
        """Do the same."""
        self.constrain(m, instance)


class Fields(NamedTuple):
    """A tuple with names."""

    most: int


def captured(data: Any) -> Callable[[Any, Any], None]:
    """Return a function that closes over data."""

    def constrain(m: Any, instance: Any) -> None:
        m.few = pyo.Constraint(expr=sum(m.x.values()) <= 5 + len(str(data)))

    return constrain


def decorated(most: int) -> Any:
    """Return a function whose wrapper has no data of its own."""

    def inner(m: Any, instance: Any) -> None:
        Limit(most).constrain(m, instance)

    @functools.wraps(inner)
    def outer(m: Any, instance: Any) -> None:
        inner(m, instance)

    return outer


def recursive(most: int) -> Any:
    """Return a function that calls itself."""

    def constrain(m: Any, instance: Any, again: bool = True) -> None:
        if again:
            constrain(m, instance, False)
        else:
            m.few = pyo.Constraint(expr=sum(m.x.values()) <= most)

    return constrain


GIVEN: dict[str, Callable[[int], Any]] = {
    "closure": captured,
    "keyword": lambda k: functools.partial(lambda m, i, k: captured(k)(m, i), k=k),
    "default": lambda k: lambda m, i, k=k: captured(k)(m, i),
    "method": lambda k: Limit(k).constrain,
    "object": Limit,
    "wrapped": decorated,
    "recursive": recursive,
    "fields": lambda k: captured(Fields(k)),
    "nested": lambda k: captured({"a": [(1, {k}), None]}),
    "function": lambda k: captured([captured(k), captured]),
    "array": lambda k: captured(np.array([1.5, k])),
    "instance": lambda k: captured(dlsched.generate("reclaiming", k, servers=4)),
}


@pytest.mark.parametrize("make", GIVEN.values(), ids=GIVEN)
def test_what_a_function_was_given_counts(make: Callable[[int], Any]) -> None:
    """As closure, default, bound argument or object, at any depth; so in a loop of lambdas."""
    three, again, four = (Variant("reclaiming", "few", make(k)).sha256 for k in (3, 3, 4))
    assert three == again != four
    assert three is not None


def test_what_is_stated_counts() -> None:
    """Name, levels, fixed variables, version, the rule; and which function of a file it is."""
    levels = (
        dlsched.Level("own", "minimize", captured(1)),
        replace(dlsched.Level("own", "minimize", captured(1)), sense="maximize"),
    )
    variants = [
        Variant("reclaiming", "few", captured(3)),
        Variant("reclaiming", "few", Limit(3)),
        Variant("reclaiming", "other", captured(3)),
        Variant("reclaiming", "few", captured(3), ["collateral"]),
        Variant("reclaiming", "few", captured(3), [levels[0]]),
        Variant("reclaiming", "few", captured(3), [levels[1]]),
        Variant("reclaiming", "few", captured(3), fix={"x[s1]": 1}),
        Variant("reclaiming", "few", captured(3), version="1"),
        Variant("reclaiming", "few", captured(3), version="2"),
        Variant("utility", "few", allow=captured(3)),
        Variant("utility", "few", allow=captured(4)),
    ]
    assert len({variant.sha256 for variant in variants}) == len(variants)


CELL = """
def constrain(m, instance):
    m.few = pyo.Constraint(expr=sum(m.x.values()) <= 9)
"""


def in_a_cell(version: str | None = None) -> Variant:
    """Return a variant whose function is in no file."""
    names: dict[str, Any] = {"pyo": pyo, "__name__": "__main__"}
    exec(compile(CELL, "<cell>", "exec"), names)
    return Variant("reclaiming", "few", names["constrain"], version=version)


def opaque(version: str | None = None) -> Variant:
    """Return a variant of data that no text states."""
    return Variant("reclaiming", "few", captured(SimpleNamespace(most=3)), version=version)


@pytest.mark.parametrize("make", [in_a_cell, opaque])
def test_a_variant_without_identity_is_solved_but_not_kept(make: Any) -> None:
    """Each error names the remedy, which makes it one that is kept."""
    result = dlsched.solve(NAME, variant=make(), certify=True)
    assert result.status == "optimal"
    assert result.variant.sha256 is None
    assert dlsched.compare([NAME], ["lyra"], variant=make())["variant"].tolist() == ["few"]
    for keep in (
        result.to_json,
        result.proof.to_data,
        lambda: dlsched.prove(NAME, variant=make()),
        lambda: dlsched.prove_bound(NAME, 0, variant=make()),
    ):
        with pytest.raises(OptionError, match=r'has no identity: .* state version="1"'):
            keep()
    assert make("1").sha256 != make("2").sha256
    kept = dlsched.solve(NAME, variant=make("1"))
    assert dlsched.read_result(kept.to_json()).variant == kept.variant
    proof = dlsched.prove(NAME, variant=make("1"))
    assert dlsched.check_proof(NAME, proof, variant=make()).instance == NAME


@pytest.mark.parametrize("version", [1, ""])
def test_a_version_is_text(version: Any) -> None:
    """Said when the variant is made."""
    with pytest.raises(OptionError, match=r"version=.* must be text, as '1'"):
        Variant("reclaiming", "few", captured(3), version=version)


def test_results_tell_apart_what_has_one_identity(tmp_path: Path) -> None:
    """By what was added to the model: here what a file says, which no identity has."""
    limit = tmp_path / "limit.txt"
    name = str(limit)

    def reads(m: Any, instance: Any) -> None:
        m.few = pyo.Constraint(expr=sum(m.x.values()) <= int(Path(name).read_text()))

    labels, proofs = [], []
    for text in ("7", "8", "7"):
        limit.write_text(text)
        variant = Variant("reclaiming", "reads", reads)
        labels.append(dlsched.solve(NAME, variant=variant).variant)
        proofs.append(dlsched.prove(NAME, variant=variant))
    assert len({label.sha256 for label in labels}) == 1
    assert labels[0] == labels[2] != labels[1]
    assert dlsched.check_proof(NAME, proofs[0], variant=Variant("reclaiming", "reads", reads))
    with pytest.raises(InvalidProof, match="the variant says something else here"):
        dlsched.check_proof(NAME, proofs[1], variant=Variant("reclaiming", "reads", reads))


def test_a_proof_of_a_former_identity_is_decided_by_its_model() -> None:
    """As after an edit that changes nothing, or where versions made other digests."""
    variant = Variant("reclaiming", "few", captured(100))
    proof = dlsched.prove(NAME, variant=variant)
    former = replace(proof, variant=proof.variant._replace(sha256="f" * 64))
    assert dlsched.check_proof(NAME, former, variant=variant)
    with pytest.raises(InvalidProof, match="says something else here"):
        dlsched.check_proof(NAME, former, variant=Variant("reclaiming", "few", captured(10**9)))
    with pytest.raises(InvalidProof, match="of the variant few, not of other"):
        dlsched.check_proof(NAME, former, variant=Variant("reclaiming", "other", captured(100)))


def test_a_result_of_before_is_read() -> None:
    """It has no digest of what was added."""
    result = dlsched.solve(NAME, variant=Variant("reclaiming", "few", captured(100)))
    data = json.loads(result.to_json())
    assert data["variant"].pop("model_sha256") == result.variant.model_sha256
    assert dlsched.read_result(json.dumps(data)).variant == (*result.variant[:2], None)
