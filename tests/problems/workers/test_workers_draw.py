"""The picture of workers: what is drawn, by name and for a whole fleet."""

from __future__ import annotations

import pytest

import dlsched

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")


def texts(ax: object) -> set[str]:
    """Return the texts and annotations on some axes."""
    return {t.get_text() for t in [*ax.texts, *ax.artists] if t.get_text()}  # type: ignore[attr-defined]


def test_rows_name_jobs_pools_and_groups() -> None:
    """Each worker has a box with its job; each row says pool and group."""
    ax = dlsched.plot(dlsched.solve("workers-two-groups"))
    assert {"a", "b", "training", "on loan, base", "on loan, flexible"} <= texts(ax)
    title = ax.get_title(loc="left").replace("\n", " ")
    assert (
        "2 jobs; arc_flow: placed 2, flexible 2, off_preference 0 GPUs, opened 1; optimal" in title
    )
    hatched = [patch for patch in ax.patches if patch.get_hatch()]
    assert len(hatched) == 2


@pytest.mark.parametrize("color_by", ["job", "kind", "gpus"])
def test_a_fleet_is_drawn_whole(color_by: str) -> None:
    """Above 24 servers each is a column, and the legend says what the colours are."""
    instance = dlsched.generate("workers", 1, training=20, loan=20, jobs=30)
    ax = dlsched.plot(dlsched.solve(instance, "bfd"), color_by=color_by)
    assert "all 40 servers" in ax.get_xlabel()
    entries = {text.get_text() for text in ax.figure.legends[0].get_texts()}
    assert {"in use before", "idle", "on loan"} <= entries
