"""Variants in files: what a file imports, edits within a second, threads that load it at once."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest

import dlsched
from dlsched.errors import OptionError
from dlsched.schema import Instance
from dlsched.variants import Variant, find_variant

FILE = """import time

import dlsched
import pyomo.environ as pyo

from limits_beside import LIMIT

time.sleep(0.05)


@dlsched.variant("reclaiming")
def few(m, instance):
    m.few = pyo.Constraint(expr=sum(m.x.values()) <= LIMIT + 3)
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a file with a variant that imports another file of its folder."""
    monkeypatch.syspath_prepend("/nowhere")  # sys.path is as before afterwards
    (tmp_path / "limits_beside.py").write_text("LIMIT = 1\n")
    (tmp_path / "few.py").write_text(FILE)
    return tmp_path / "few.py"


def test_threads_that_load_a_file_at_once(file: Path) -> None:
    """The second one got the module before it had run."""
    found: list[str] = []

    def load() -> None:
        found.append(find_variant(f"{file}:few").sha256)

    threads = [threading.Thread(target=load) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    assert len(set(found)) == 1


def test_an_edit_within_a_second(file: Path) -> None:
    """Python's cache of compiled files has that of before, by size and whole seconds."""
    before = find_variant(f"{file}:few").constrain
    file.write_text(FILE.replace("+ 3", "+ 4"))
    after = find_variant(f"{file}:few").constrain
    assert before is not None
    assert after is not None
    assert before.__code__.co_consts != after.__code__.co_consts


def test_a_file_that_is_read_in_a_call_is_refused(tmp_path: Path) -> None:
    """An edited one would give another variant the same digest; writing one, or imports, do not."""
    limit = tmp_path / "limit.txt"
    limit.write_text("2")

    def reads(m: Any, instance: Instance) -> None:
        m.few = pyo.Constraint(expr=sum(m.x.values()) <= int(limit.read_text()))

    def writes(m: Any, instance: Instance) -> None:
        import email.mime.text  # noqa: F401

        limit.write_text("3")
        m.few = pyo.Constraint(expr=sum(m.x.values()) <= 3)

    def allow(instance: Instance, first: Any, second: Any) -> bool:
        return bool(limit.read_bytes())

    with pytest.raises(OptionError, match=r"variant reads: its function opens .*limit\.txt"):
        dlsched.model("lyra-fig5", variant=Variant("reclaiming", "reads", reads))
    dlsched.model("lyra-fig5", variant=Variant("reclaiming", "writes", writes))
    instance = dlsched.generate("interleaving", 0, jobs=4)
    with pytest.raises(OptionError, match=r"variant allow: its function opens .*limit\.txt"):
        dlsched.solve(instance, variant=Variant("interleaving", "allow", allow=allow))
    assert limit.read_text() == "3"
