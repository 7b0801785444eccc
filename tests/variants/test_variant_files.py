"""Variants in files: what a file imports, edits within a second, threads that load it at once."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from dlsched.variants import find_variant

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
