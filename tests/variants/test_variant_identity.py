"""Digests of variants: what two of them differ in that add something else to a model."""

from __future__ import annotations

import functools
import os
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pyomo.environ as pyo
import pytest

from dlsched.errors import OptionError
from dlsched.variants import Variant, find_variant

LIMITS = {"most": 3}


def digest(data: Any) -> str:
    """Return the digest of a variant that reads data."""

    def constrain(m: Any, instance: Any) -> None:
        m.added = pyo.Constraint(expr=sum(m.x.values()) <= data)

    return Variant("reclaiming", "data", constrain).sha256


class Held(dict[str, int]):
    """A dict whose method reads a global."""

    def most(self) -> int:
        """Return the global."""
        return LIMITS["most"]


class Named(NamedTuple):
    """A tuple whose method reads a global."""

    first: int

    def most(self) -> int:
        """Return the global."""
        return LIMITS["most"]


class Parent:
    """What another class inherits."""

    most = np.array([3])


class Child(Parent):
    """Says nothing itself."""


class Indexed(type):
    """A class of classes whose method reads a global."""

    def __getitem__(cls, key: int) -> int:
        """Return the global and a number."""
        return LIMITS["most"] + key


class Lazy(metaclass=Indexed):
    """Entries of a class that are no functions but have them."""

    class Inner:
        """A class inside."""

        def most(self) -> int:
            """Return the global."""
            return LIMITS["most"]

    @functools.cached_property
    def first(self) -> int:
        """Return the global."""
        return LIMITS["most"]


@dataclass
class Noted:
    """An object with an attribute that is no field."""

    first: int


def with_attribute(value: Any, most: int) -> Any:
    """Return an object with one attribute more."""
    value.most = most
    return value


def masked(mask: list[bool]) -> Any:
    """Return an array of which some entries are hidden."""
    return np.ma.array([1, 999999], mask=mask)


def limited(most: int) -> Callable[[], int]:
    """Return a function of the name of the others."""
    return lambda: most


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (with_attribute(Held(), 3), with_attribute(Held(), 4)),
        (with_attribute(Noted(1), 3), with_attribute(Noted(1), 4)),
        (defaultdict(lambda: 3), defaultdict(lambda: 4)),
        (masked([False, True]), masked([False, False])),
        ([(a := limited(3)), (b := limited(4)), a], [a, b, b]),
    ],
)
def test_data_that_differ_beside_their_content(one: Any, other: Any) -> None:
    """Attributes, defaults, hidden entries, which function of several a list has again."""
    assert digest(one) != digest(other)


@pytest.mark.parametrize("data", [Held(), Named(1), Lazy, Lazy.Inner])
def test_methods_of_any_class_are_read(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of dicts, of tuples, of a class's class, of a class inside, of properties."""
    before = digest(data)
    monkeypatch.setitem(LIMITS, "most", 4)
    assert digest(data) != before


def test_a_class_has_what_its_parents_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays, too."""
    before = digest(Child)
    monkeypatch.setattr(Parent, "most", np.array([4]))
    assert digest(Child) != before


def test_a_list_that_contains_itself() -> None:
    """One that contains another list of the same is another one; neither is an endless one."""
    one: list[Any] = [1]
    one.append(one)
    assert digest(one) != digest([1, [1]])
    with pytest.raises(OptionError, match="nested too deeply"):
        digest(functools.reduce(lambda inner, _: [inner], range(2000), [1]))


def test_a_lambda_of_several_lines() -> None:
    """Python's own text of it ends with its first line."""
    # fmt: off
    three = Variant("reclaiming", "few", constrain=
        lambda m, i:
            setattr(m, "few", pyo.Constraint(expr=sum(m.x.values()) >= 3)))
    four = Variant("reclaiming", "few", constrain=
        lambda m, i:
            setattr(m, "few", pyo.Constraint(expr=sum(m.x.values()) >= 4)))
    # fmt: on
    assert three.sha256 != four.sha256


CODE = "def constrain(m, instance):\n    m.few = pyo.Constraint(expr=sum(m.x.values()) >= 3)\n"


def made(text: str, file: str) -> Any:
    """Return the function of a text that claims to be of a file."""
    names: dict[str, Any] = {"pyo": pyo}
    exec(compile(text, file, "exec"), names)
    return names["constrain"]


def test_code_that_is_not_of_its_file(tmp_path: Path) -> None:
    """A file that was edited after it was imported, or is another one's."""
    file = tmp_path / "mine.py"
    file.write_text(CODE)
    digests = {
        Variant("reclaiming", "v", made(CODE.replace("3", n), str(file))).sha256 for n in "34"
    }
    assert len(digests) == 2


def package(folder: Path, limit: int) -> None:
    """Write a package of which one module reads another."""
    folder.mkdir(exist_ok=True)
    (folder / "__init__.py").touch()
    (folder / "numbers_of_mine.py").write_text(f"LIMIT = {limit}\n")
    (folder / "rules.py").write_text(
        "from . import numbers_of_mine\n\n\ndef limit():\n    return numbers_of_mine.LIMIT\n"
    )


@pytest.mark.parametrize(
    ("head", "called"),
    [
        ("import pack_of_mine.rules", "pack_of_mine.rules.limit()"),
        ("from pack_of_mine import rules", "rules.limit()"),
    ],
)
def test_a_package_has_what_its_modules_read(
    head: str, called: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own text is empty, which was an error."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "mine.py").write_text(
        f"import dlsched\n{head}\n\n\n@dlsched.variant('reclaiming')\ndef few(m, instance):\n"
        f"    m.few = {called}\n"
    )
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    digests = set()
    for limit in (3, 4):
        for name in [name for name in sys.modules if name.split(".")[0] == "pack_of_mine"]:
            monkeypatch.delitem(sys.modules, name)
        package(tmp_path / "pack_of_mine", limit)
        (tmp_path / "mine.py").write_text((tmp_path / "mine.py").read_text() + "\n")
        digests.add(find_variant(f"{tmp_path / 'mine.py'}:few").sha256)
    assert len(digests) == 2


def test_an_installed_package_has_its_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name alone would be that of the next version, too."""
    from dlsched.variants import libraries

    monkeypatch.setattr(libraries, "_LIBRARIES", (tmp_path,))
    monkeypatch.syspath_prepend(str(tmp_path))
    digests = set()
    for limit in (3, 4):
        module = tmp_path / f"installed_{limit}.py"
        module.write_text(CODE.replace("def", "import pyomo.environ as pyo\n\n\ndef", 1))
        module.write_text(module.read_text().replace("3", str(limit)))
        constrain = __import__(module.stem).constrain
        digests.add(Variant("reclaiming", "few", constrain).sha256)
    assert len(digests) == 2


def reads_the_environment(m: Any, instance: Any) -> None:
    """Read what is another one in the next process."""
    m.few = pyo.Constraint(expr=sum(m.x.values()) >= int(os.environ["MOST"]))


def reads_the_modules(m: Any, instance: Any) -> None:
    """Read a module without naming it."""
    m.few = pyo.Constraint(expr=sum(m.x.values()) >= sys.modules["mine"].LIMIT)


@pytest.mark.parametrize("constrain", [reads_the_environment, reads_the_modules])
def test_what_is_read_from_elsewhere_is_refused(constrain: Any) -> None:
    """No digest has it."""
    with pytest.raises(OptionError, match="so that no digest has what it reads"):
        Variant("reclaiming", "elsewhere", constrain)


def reads_an_attribute_of_its_own(m: Any, instance: Any) -> None:
    """Add a component that is called as what it reads of itself."""
    limit = reads_an_attribute_of_its_own.few  # type: ignore[attr-defined]
    m.few = pyo.Constraint(expr=sum(m.x.values()) >= limit)


def test_an_attribute_that_is_called_as_a_component() -> None:
    """It was taken for one that the function itself sets."""
    digests = set()
    for limit in (3, 4):
        reads_an_attribute_of_its_own.few = limit  # type: ignore[attr-defined]
        digests.add(Variant("reclaiming", "own", reads_an_attribute_of_its_own).sha256)
    assert len(digests) == 2


def test_an_object_is_not_its_namesake() -> None:
    """What has no digest is refused with its type."""
    with pytest.raises(OptionError, match=r"SimpleNamespace, whose content has no digest"):
        digest(SimpleNamespace(most=3))
