"""The picture shows the solution."""

from __future__ import annotations

import matplotlib as mpl

import dlsched
from dlsched.problems.reclaiming import Instance
from dlsched.problems.reclaiming.pictures.draw import draw

mpl.use("agg")


def test_the_paper_s_example() -> None:
    """Six rows with their jobs; servers 1 and 2 are marked as returned, job a is crossed."""
    fig5 = dlsched.load("lyra-fig5")
    ax = draw(fig5, dlsched.solve(fig5).solution)
    words = [t.get_text() for t in [*ax.texts, *ax.artists, *ax.get_yticklabels()]]
    assert sum("returned" in w for w in words) == 2
    assert {*"123456", *"abcd"} <= set(words)
    assert "preempted 1, collateral 0" in ax.get_title(loc="left").replace("\n", " ")
    crosses = [line for line in ax.lines if line.get_color() == "black"]
    assert len(crosses) == 4
    idle = [p for p in ax.patches if p.get_facecolor() == (1, 1, 1, 1)]
    used = [p for p in ax.patches if p.get_facecolor()[3] == 1 and p not in idle]
    assert sum(p.get_width() for p in idle) - sum(p.get_width() for p in used) == 4
    ax.figure.canvas.draw()


def test_flexible_workers_are_hatched() -> None:
    """As many hatched boxes as flexible workers; without a solution nothing is crossed."""
    instance = dlsched.generate("reclaiming", 4, servers=24, flexible=0.5)
    ax = draw(instance)
    flexible = sum(w.flexible for job in instance.jobs for w in job.workers)
    assert sum("/" in (p.get_hatch() or "") for p in ax.patches) == flexible > 0
    assert not [line for line in ax.lines if line.get_color() == "black"]


def test_a_large_one_is_compact() -> None:
    """60 servers are columns of cells; frames around the returned ones cover 6 of them."""
    instance = dlsched.generate("reclaiming", 1, servers=60)
    ax = draw(instance, dlsched.solve(instance, "lyra").solution)
    frames = [p for p in ax.patches if p.get_edgecolor() == (0, 0, 0, 1)]
    assert sum(p.get_width() for p in frames) == 6


def test_nothing_to_draw() -> None:
    """An instance without servers can be drawn."""
    ax = draw(Instance(name="none", demand=0, servers=(), jobs=()))
    ax.figure.canvas.draw()
