"""Text in pictures: legible, inside the picture, and never a formula by accident."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

import dlsched
from dlsched import registry
from plotted import DRAWN, WIDTHS, at_width, large, require_legible, solved, svg_text, with_names


@pytest.mark.parametrize(
    "width",
    [pytest.param(w, marks=() if w == "single" else pytest.mark.slow) for w in WIDTHS],
)
@pytest.mark.parametrize("problem", DRAWN)
def test_text_is_legible_and_inside_the_picture(problem: str, width: str) -> None:
    """No text is smaller than 6 points, and none reaches beyond a figure of a paper's width."""
    for result in (solved(problem), large(problem)):
        require_legible(at_width(width, dlsched.plot, result))


def test_labels_are_written_only_where_they_fit() -> None:
    """In a narrow picture a short stage has no name, in a wide one it has one."""
    result = solved("interleaving")
    written = {}
    for width in (2.0, 14.0):
        with mpl.rc_context({"figure.figsize": (width, 1)}):
            figure: Any = dlsched.plot(result).figure
        figure.canvas.draw()
        labels = [t for t in figure.axes[0].get_children() if hasattr(t, "fits")]
        written[width] = sum(label.fits(figure.canvas.get_renderer()) for label in labels)
    assert 0 < written[2.0] < written[14.0] <= len(labels)


def test_a_hatch_does_not_cross_a_label() -> None:
    """A label on a hatched box has an opaque plate in the box's colour."""
    instance = dlsched.generate("reclaiming", 4, servers=20, flexible=0.5)
    ax = dlsched.plot(instance, color_by="job")
    hatched = {p.get_xy() for p in ax.patches if p.get_hatch()}
    plates = [t for t in ax.get_children() if hasattr(t, "fits") and t.box[:2] in hatched]
    assert hatched and all(label.get_bbox_patch().get_alpha() is None for label in plates)
    assert len(plates) == len(hatched)


ODD = ("$\\frac{", "$a_b$", "_first", "two\nlines\tand a tab", "x" * 80)
"""Names that matplotlib would read as formulas, leave out, or break."""


def test_names_are_no_formulas() -> None:
    """Dollar signs, leading underscores and control characters are shown as they are."""
    ax = dlsched.plot(dlsched.solve(with_names(ODD)))
    written = svg_text(ax.figure)
    for text in ("100$ $\\bad$: 2 servers", *ODD[:3], "two\\nlines\\tand a tab"):
        assert f">{text}" in written


@pytest.mark.parametrize("problem", registry.problem_names())
def test_an_instance_s_name_is_no_formula(problem: str) -> None:
    """Every problem's title begins with the name as it is."""
    instance = dlsched.generate(problem, seed=1).model_copy(update={"name": "$\\frac{$"})
    ax = dlsched.plot(instance)
    assert ax.has_data()
    assert ">$\\frac{$" in svg_text(ax.figure)


def test_a_title_of_one_s_own_may_have_formulas() -> None:
    """What is between dollar signs is typeset, or refused; an escaped dollar sign is none."""
    instance = with_names(("a",))
    ax = dlsched.plot(instance, title="at $\\alpha = 1$")
    assert "\N{GREEK SMALL LETTER ALPHA}" in svg_text(ax.figure)
    with pytest.raises(dlsched.OptionError, match="cannot typeset its formula"):
        dlsched.plot(instance, title="$\\frac{$")
    dlsched.plot(instance, title="100 \\$ and more").figure.canvas.draw()


@pytest.mark.parametrize(
    "dpi", [110, *(pytest.param(dpi, marks=pytest.mark.slow) for dpi in (50, 300))]
)
def test_the_legend_stays_in_the_figure(dpi: int) -> None:
    """At resolutions where hinting makes letters wider, too."""
    names = tuple(f"ilm wxW_-a {k}" * (k % 4 + 1) for k in range(9))
    for count in range(2, 10):
        figure = dlsched.plot(with_names(names[:count])).figure
        figure.set_dpi(dpi)
        figure.canvas.draw()
        (box,) = figure.legends
        assert box.get_window_extent().x1 <= figure.bbox.x1
        plt.close(figure)
