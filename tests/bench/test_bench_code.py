"""The digest of dlsched's code in a run's key: what it depends on, and what it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

import dlsched
from dlsched.bench import code_identity

USED = [
    "api/solving.py",
    "bench/execution.py",
    "api/evaluation.py",
    "problems/elastic/exact/__init__.py",
    "registry/methods.py",
    "schema/quantities.py",
    "proofs/forms/form.py",
    "solvers/levels.py",
    "display/table.py",
]
UNUSED = [
    "bench/store.py",
    "cli/solve.py",
    "problems/placement/exact/__init__.py",
    "display/plotting.py",
]


@pytest.mark.parametrize("name", USED + UNUSED)
def test_code_that_a_result_depends_on(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change to a module changes the digest of an elastic run only if the run uses it."""
    assert (Path(dlsched.__file__).parent / name).is_file()
    for each in USED + UNUSED:
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / each).write_text("")
    monkeypatch.setattr(dlsched, "__file__", str(tmp_path / "__init__.py"))
    code_identity.forget()
    before = code_identity.library_digest("elastic")
    (tmp_path / name).write_text("changed = True\n")
    code_identity.forget()
    assert (code_identity.library_digest("elastic") != before) == (name in USED)
