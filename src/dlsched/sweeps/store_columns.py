"""The columns of the store's table of runs."""

from __future__ import annotations

TYPES: dict[str, str] = {
    "key": "TEXT PRIMARY KEY",
    "instance": "TEXT NOT NULL",
    "instance_sha256": "TEXT",
    "problem": "TEXT NOT NULL",
    "variant": "TEXT",
    "variant_sha256": "TEXT",
    "size": "INTEGER",
    "source": "TEXT NOT NULL",
    "method": "TEXT NOT NULL",
    "resolved_method": "TEXT",
    "kind": "TEXT",
    "options": "TEXT NOT NULL",
    "seed": "INTEGER NOT NULL",
    "repetition": "INTEGER NOT NULL",
    "status": "TEXT NOT NULL",
    "termination": "TEXT",
    "reason": "TEXT NOT NULL",
    "objective": "TEXT",
    "bound": "TEXT",
    "gap": "REAL",
    "gap_level": "TEXT",
    "bound_kind": "TEXT",
    "seconds": "REAL",
    "build_seconds": "REAL",
    "solve_seconds": "REAL",
    "check_seconds": "REAL",
    "run_seconds": "REAL",
    "peak_memory_bytes": "INTEGER",
    "versions": "TEXT NOT NULL",
    "machine": "TEXT NOT NULL",
    "started": "TEXT NOT NULL",
    "solution_sha256": "TEXT",
    "record": "TEXT",
}
"""The columns of ``runs`` with their SQL types; `dlsched.display.table.COLUMNS` has their meaning.
``record`` is the result as JSON, without its solution: the trajectory, certified bounds, exact
fractions."""
