"""What makes a variant another one: its file and what that imports, data, what is stated."""

import functools
import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import dlsched
from calls import python
from dlsched import Level, OptionError, Variant
from dlsched.proofs.check import InvalidProof
from dlsched.variants import find_variant

NAME = "reclaiming-small-04"
FEW = """import time

import dlsched
import pyomo.environ as pyo
from ident_pack.rules import LIMITS

time.sleep(0.05)

@dlsched.variant("reclaiming")
def few(m, instance):
    m.few = pyo.Constraint(expr=sum(m.x.values()) <= 9 + len(LIMITS))

if __name__ == "__main__":
    print(few.sha256)
"""
FILES = {
    "ident_few.py": FEW,
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


def test_edits_of_what_a_variant_imports_change_it(folder: Path) -> None:
    """However indirectly; of another file beside it they do not."""
    before = identity(folder)
    for name, text in FILES.items():
        (folder / name).write_text(text + "# edited\n")
        assert (identity(folder) != before) == (name != "ident_other.py"), name
        (folder / name).write_text(text)
        assert identity(folder) == before is not None


def test_a_file_has_one_identity(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run, imported or given as a path, in processes that order sets differently."""
    known = {identity(folder)}
    monkeypatch.setenv("PYTHONPATH", str(folder))
    codes = (
        "import runpy; runpy.run_path('ident_few.py', run_name='__main__')",
        "from ident_few import few; print(few.sha256)",
        "from dlsched.variants import find_variant; print(find_variant('ident_few:few').sha256)",
    )
    for seed, code in enumerate(codes):
        ran = python(code, env={"PYTHONHASHSEED": str(seed)}, cwd=folder)
        known.add(ran.stdout.strip())
    assert len(known) == 1


def test_a_file_that_is_edited_later_is_as_it_was_loaded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's cache of compiled files has that of before, by size and whole seconds."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    name = f"{folder / 'ident_few.py'}:few"
    loaded = find_variant(name)
    (folder / "ident_few.py").write_text(FEW.replace("<= 9", "<= 8"))
    assert dlsched.solve(NAME, variant=loaded).variant.sha256 == loaded.sha256
    edited = find_variant(name)
    assert edited.sha256 != loaded.sha256
    assert edited.constrain.__code__.co_consts != loaded.constrain.__code__.co_consts


def test_threads_that_load_a_file_at_once(folder: Path) -> None:
    """The second one got the module before it had run."""
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(find_variant, [f"{folder / 'ident_few.py'}:few"] * 3))
    assert len({variant.sha256 for variant in found}) == 1


@dataclass
class Limit:
    """Data with a method."""

    most: int

    def constrain(self, m: Any, instance: Any) -> None:
        """Limit the servers."""
        m.few = pyo.Constraint(expr=sum(m.x.values()) <= self.most)

    __call__ = constrain


def captured(data: Any) -> Callable[[Any, Any], None]:
    """Return a function that closes over data."""

    def constrain(m: Any, instance: Any) -> None:
        m.few = pyo.Constraint(expr=sum(m.x.values()) <= 5 + len(str(data)))

    return constrain


CAPTURED: dict[str, Callable[[int], Any]] = {
    "closure": captured,
    "keyword": lambda k: functools.partial(captured(0), k=k),
    "default": lambda k: lambda m, i, k=k: captured(k)(m, i),
    "method": lambda k: Limit(k).constrain,
    "object": Limit,
    "nested": lambda k: captured({"a": [(1, {k}), None]}),
    "function": lambda k: captured([captured(k), captured]),
    "array": lambda k: captured(np.array([1.5, k])),
    "namespace": lambda k: captured(SimpleNamespace(most=k)),
    "instance": lambda k: captured(dlsched.generate("reclaiming", k, servers=4)),
}


@pytest.mark.parametrize("make", CAPTURED.values(), ids=CAPTURED)
def test_what_a_function_was_given_counts(make: Callable[[int], Any]) -> None:
    """As closure, default, bound argument or object, at any depth; so in a loop of lambdas."""
    three, again, four = (Variant("reclaiming", "few", make(k)).sha256 for k in (3, 3, 4))
    assert three == again != four
    assert three is not None


def test_what_is_stated_counts() -> None:
    """Name, levels, fixed variables, version, the rule; and which function of a file it is."""
    level = Level("own", "minimize", captured(1))
    given: list[dict[str, Any]] = [
        {"constrain": captured(3)},
        {"constrain": Limit(3)},
        {"name": "other", "constrain": captured(3)},
        {"levels": ["collateral"]},
        {"levels": [level]},
        {"levels": [replace(level, sense="maximize")]},
        {"fix": {"x[s1]": 1}},
        {"version": "1"},
        {"version": "2"},
        {"problem": "utility", "allow": captured(3)},
        {"problem": "utility", "allow": captured(4)},
    ]
    known = [Variant(**{"problem": "reclaiming", "name": "few"} | stated) for stated in given]
    assert len({variant.sha256 for variant in known}) == len(known)
    fixed = [Variant("reclaiming", "one", fix={"x[s1]": n}) for n in (1, np.int64(1))]
    assert fixed[0].sha256 == fixed[1].sha256


def in_a_cell(version: str | None = None) -> Variant:
    """Return a variant whose function is in no file."""
    names: dict[str, Any] = {"pyo": pyo, "__name__": "__main__"}
    body = "m.few = pyo.Constraint(expr=sum(m.x.values()) <= 9)"
    exec(compile(f"def constrain(m, instance):\n    {body}\n", "<cell>", "exec"), names)
    return Variant("reclaiming", "few", names["constrain"], version=version)


def opaque(version: str | None = None) -> Variant:
    """Return a variant of data that cannot be pickled."""
    return Variant("reclaiming", "few", captured(Lock()), version=version)


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
    other_model = "the digest is not that of the form model, since the variant says something else"
    for name, data, said in (("few", 10**9, other_model), ("other", 100, "few, not of other")):
        changed = Variant("reclaiming", name, captured(data))
        with pytest.raises(InvalidProof, match=said):
            dlsched.check_proof(NAME, former, variant=changed)


def test_a_result_of_before_is_read() -> None:
    """It has no digest of what was added."""
    result = dlsched.solve(NAME, variant=Variant("reclaiming", "few", captured(100)))
    data = json.loads(result.to_json())
    assert data["variant"].pop("model_sha256") == result.variant.model_sha256
    assert dlsched.read_result(json.dumps(data)).variant == (*result.variant[:2], None)
