"""Which code made a section of figures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_NAMED = ("simulation", "proofs", "records", "sweeps")
"""Folders of the package that are named if the section used them; the rest serves all."""


def commit_of_code() -> str:
    """Return the commit that is checked out, with ``+`` if source files differ from it."""
    commit = git("rev-parse", "--short=8", "HEAD").strip()
    changed = "+" if git("status", "--porcelain", "src", "benchmarks/*.py").strip() else ""
    return f"{commit or 'unknown'}{changed}"


def code_version(commit: str) -> str:
    """Return what a section says of its code: the commit, and the parts that were imported."""
    parts = ", ".join(_parts()) or "no part of the package"
    return f"the code of commit {commit} ({parts})."


def git(*arguments: str) -> str:
    """Return what git prints, or nothing where there is no repository."""
    try:
        run = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return ""
    return run.stdout if run.returncode == 0 else ""


def _parts() -> list[str]:
    names = [name.split(".") for name in sys.modules if name.startswith("dlsched.")]
    problems = {f"problems/{n[2]}" for n in names if n[1] == "problems" and len(n) > 3}
    beside = {f"benchmarks/{n}" for n in ("published", "claims_only") if n in sys.modules}
    return sorted(problems | beside | {n[1] for n in names if n[1] in _NAMED})
