"""Colours that can be told apart, by figures, also with deficient colour vision and in print."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray

import dlsched
from plotted import large, legend, with_names

VISION = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
"""What is seen of linear red, green and blue (Machado, Oliveira, Fernandes, 2009, severity 1)."""
_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: Any) -> NDArray[np.float64]:
    """Return the linear parts of a colour."""
    parts = np.array(mpl.colors.to_rgb(colour))
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(colour: Any, vision: str) -> NDArray[np.float64]:
    """Return a colour as CIE L*a*b* (D65), as some vision sees it."""
    seen = np.clip(np.array(VISION[vision]) @ linear(colour), 0, 1)
    x, y, z = (_TO_XYZ @ seen) / np.array([0.9505, 1.0, 1.089])
    a, b, c = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return np.array([116 * b - 16, 500 * (a - b), 200 * (b - c)])


def contrast(a: Any, b: Any) -> float:
    """Return the contrast of two colours (WCAG 2)."""
    low, high = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (a, b))
    return (high + 0.05) / (low + 0.05)


def looks(count: int) -> dict[str, tuple[Any, Any]]:
    """Return colour and pattern of so many jobs, by name, as the legend shows them."""
    names = tuple(f"job {n}" for n in range(count))
    (box,) = dlsched.plot(with_names(names), color_by="job").figure.legends
    entries = zip(box.get_texts(), box.legend_handles, strict=True)
    shown = {text.get_text(): handle for text, handle in entries}
    return {n: (h.get_facecolor(), h.get_hatch()) for n, h in shown.items() if n in names}


def test_seven_colours_can_be_told_apart() -> None:
    """Any two differ by at least 12 in CIE L*a*b*, where about 2 is just noticed side by side."""
    colours = [colour for colour, pattern in looks(7).values() if not pattern]
    assert len(set(colours)) == 7
    for vision in VISION:
        seen = [lab(colour, vision) for colour in colours]
        assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) >= 12


def test_more_than_seven_names_have_patterns() -> None:
    """21 names have 21 looks of colour and pattern; of 22 the legend says that looks repeat."""
    found = looks(21)
    assert len(found) == len(set(found.values())) == 21
    assert len({colour for colour, _ in found.values()}) == 7
    assert "22 jobs; looks repeat after 21" in legend(
        dlsched.plot(with_names(tuple(map(str, range(22)))), color_by="job")
    )


def test_text_has_contrast() -> None:
    """Labels in boxes, on every colour, have a contrast of at least 4.5 (WCAG 2, AA)."""
    names = tuple(f"job {n}" for n in range(7))
    figure = dlsched.plot(with_names(names), color_by="job").figure
    boxes = {patch.get_xy(): patch.get_facecolor() for patch in figure.axes[0].patches}
    labels = [t for t in figure.axes[0].get_children() if hasattr(t, "fits")]
    found = [contrast(label.get_color(), boxes[label.box[:2]]) for label in labels]
    assert len(found) >= 7 and min(found) >= 4.5


def test_running_workloads_stand_out_from_each_other() -> None:
    """On machines of dispatch, those within their quota are darker than those over it."""
    entries = legend(dlsched.plot(large("dispatch")))
    assert contrast(entries["running within quota"], entries["running over quota"]) >= 2.6


def test_names_of_methods_have_contrast() -> None:
    """Of the paper's rule, too, which alone has a colour: at least 4.5 on white."""
    for owner in map(dlsched.registry.problem, dlsched.list_problems()):
        assert not owner.paper_method or owner.methods[owner.paper_method].kind == "heuristic"
    table = dlsched.compare(["lyra-fig5", "reclaiming-small-05"], ["exact", "scf", "lyra"])
    (ax,) = dlsched.plot_overview(table).axes
    colours = {label.get_text(): label.get_color() for label in ax.get_yticklabels()}
    assert colours["lyra"] != colours["exact"] == colours["scf"]
    texts = [t for t in ax.figure.findobj(mpl.text.Text) if t.get_text() and t.get_visible()]
    assert min(contrast(text.get_color(), "white") for text in texts) >= 4.5
