"""Internal: performance profiles of times and gaps against figures worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from dlsched.results.performance_profiles import gap_profile, time_profile


def row(method: str, instance: str, seconds: float | None = 1.0, **fields: Any) -> dict[str, Any]:
    """Return a row of an exact method that proved its answer."""
    return {
        "problem": "reclaiming", "method": method, "options": "{}", "instance": instance,
        "instance_sha256": instance, "source": instance, "seed": 0, "repetition": 0,
        "seconds": seconds, "kind": "exact", "status": "optimal", "termination": "finished",
        "refuted": "", "gap_to_best": None, "at_optimum": False,
    } | fields  # fmt: skip


def test_profiles_by_hand() -> None:
    """Two exact methods on three instances, one unproven; shares within a gap are of all runs."""
    rows = [
        row("a", "1", 1.0),
        row("a", "2", 8.0),
        row("a", "3", status="feasible", termination="time_limit"),
        row("b", "1", 3.0),
        row("b", "2", 2.0),
        row("b", "3", None, status="wall_timeout"),
    ]
    profile = time_profile(rows)
    for method, factors in (("a", [1, 1, 4]), ("b", [1, 1, 3])):
        assert list(profile[method][0]) == factors
        assert list(profile[method][1]) == pytest.approx([1 / 3, 1 / 3, 2 / 3])
    fields = {"kind": "heuristic", "status": "feasible", "gap_to_best": 0.5}
    rows = [row("m", str(k), **fields | {"gap_to_best": gap}) for k, gap in enumerate((0.5, 0.1))]
    rows += [row("m", "3", status="error"), row("m", "4", status="killed")]
    gaps, shares = gap_profile(rows)["m"]
    assert list(gaps) == [0.1, 0.5] and list(shares) == [0.25, 0.5]
