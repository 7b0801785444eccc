"""Colours that can be told apart, by figures, also with deficient colour vision and in print."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from dlsched.display.drawing.colours import ACCENT, MOST_NAMED, PALETTE, PLAIN, SAME, SAME_LABEL
from dlsched.problems.dispatch.pictures.machine_use import OVER, WITHIN
from dlsched.simulation.pictures.charts import by_name, by_number

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


def linear(colour: str) -> NDArray[np.float64]:
    """Return the linear parts of a colour."""
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(colour: str, vision: str) -> NDArray[np.float64]:
    """Return a colour as CIE L*a*b* (D65), as some vision sees it."""
    seen = np.clip(np.array(VISION[vision]) @ linear(colour), 0, 1)
    x, y, z = (_TO_XYZ @ seen) / np.array([0.9505, 1.0, 1.089])
    a, b, c = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return np.array([116 * b - 16, 500 * (a - b), 200 * (b - c)])


def contrast(a: str, b: str) -> float:
    """Return the contrast of two colours (WCAG 2)."""
    low, high = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (a, b))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("vision", VISION)
def test_seven_colours_can_be_told_apart(vision: str) -> None:
    """Any two differ by at least 12 in CIE L*a*b*, where about 2 is just noticed side by side."""
    seen = [lab(colour, vision) for colour in PALETTE]
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) >= 12


def test_more_than_seven_names_have_patterns() -> None:
    """21 names have 21 looks of colour and pattern; the 22nd repeats, and is known to."""
    names = [str(n) for n in range(MOST_NAMED)]
    colouring = by_name(names)
    looks = {(colouring.colours[n], colouring.hatch(n)) for n in range(MOST_NAMED)}
    assert len(looks) == MOST_NAMED == 21
    assert not any(colouring.hatch(n) for n in range(len(PALETTE)))
    assert not colouring.repeats(patterned=True) and colouring.repeats(patterned=False)
    assert by_name([*names, "one more"]).repeats(patterned=True)


def test_what_is_the_same_is_pale() -> None:
    """Of two names one keeps its look, and the legend's words for the other are those of a pair."""
    names = ["a", "b"]
    colouring = by_name(names).only(names, {"b"})
    assert colouring.colours == (SAME, PALETTE[1])
    assert colouring.labels == (SAME_LABEL, "b")
    assert by_name(names).only(names, None) == by_name(names)
    assert by_number([1, 2]).only(names, ()).colours == (SAME, SAME)


def test_contrasts() -> None:
    """Text in the accent colour, and running workloads of dispatch beside each other."""
    assert contrast(ACCENT, "#ffffff") >= 4.5
    assert contrast(PLAIN, "#ffffff") >= 4.5
    assert contrast(WITHIN, OVER) >= 2.6
