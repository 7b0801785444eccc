"""The picture of interleaving: lengths and areas of its bars."""

from __future__ import annotations

import pytest

import dlsched
from dlsched.problems.interleaving.pictures.draw import draw_both


def test_grouping_shortens_the_picture() -> None:
    """Grouped, the four jobs end after T; alone, after all stages; lanes are the resources."""
    instance = dlsched.load("muri-table2")
    alone = float(sum(sum(job.stages) for job in instance.jobs))
    above, below = draw_both(instance, dlsched.solve(instance).solution)
    ends = [max(p.get_x() + p.get_width() for p in ax.patches) for ax in (above, below)]
    assert ends[1] == pytest.approx(917.67, abs=0.01)
    longest = float(max(sum(job.stages) for job in instance.jobs))
    assert ends[0] == pytest.approx(alone + 3 * 0.05 * longest)
    assert [t.get_text() for t in below.get_yticklabels()] == list(instance.resources)


@pytest.mark.parametrize("rule", ["muri", "muri_worst_order"])
def test_bars_fill_gamma_of_the_lanes(rule: str) -> None:
    """Of the lanes' area, bars that are not white are gamma, also at poor offsets."""
    instance = dlsched.load("muri-table2")
    result = dlsched.solve(instance, rule)
    patches = dlsched.plot(result).patches
    widths = {white: 0.0 for white in (False, True)}
    for patch in patches:
        widths[patch.get_facecolor() == (1, 1, 1, 1)] += patch.get_width()
    assert widths[False] == pytest.approx(float(sum(sum(job.stages) for job in instance.jobs)))
    assert widths[False] / sum(widths.values()) == pytest.approx(float(result.objective[0]))


def test_without_a_solution_jobs_stand_alone() -> None:
    """The instance alone is drawn as single jobs."""
    ax = dlsched.plot(dlsched.generate("interleaving", 1, jobs=8))
    assert "alone" in ax.get_title(loc="left")
