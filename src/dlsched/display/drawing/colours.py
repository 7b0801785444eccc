"""Colours and patterns of jobs and other things: stable, distinct also for the colour-blind."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from dlsched.text.figures import display

Colour = str
"""A colour as ``#rrggbb``."""

PALETTE = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7")
"""Okabe and Ito's palette without black and grey, which mark what is no job."""
PATTERNS = ("", "-----", "\\\\\\\\")
"""Hatches that distinguish what has the same colour: none for the first seven names."""
MOST_NAMED = len(PALETTE) * len(PATTERNS)
"""Names with a look of their own where patterns are drawn; without them as many as colours."""
IDLE = "#ffffff"
"""What nothing uses; drawn with the outline `EDGE`."""
EDGE = "#7f7f7f"
OTHER = "#c9ced6"
"""What is in use, in pictures whose colours show something else."""
BAD = "#d55e00"
"""What is lost or goes the wrong way: preempted jobs, bytes read from other regions."""
ACCENT = "#c44e00"
"""What a picture is about; on white its contrast (WCAG 2) is 4.7, enough for text."""
SAME = "#e6e9ed"
"""What two solutions have in common, in pictures of their difference."""
SAME_LABEL = "the same in both"
PLAIN = "#5f6b7a"
"""What it is compared with; on white its contrast is 5.4."""
BLUES = ("#e3edf7", "#c3d9ee", "#9dc1e0", "#73a6d1", "#4a89bd", "#2a6ca5", "#134f85", "#0a3560")
"""From light to dark, where orange marks what is lost."""
_SEQUENCE = ("#fde9a9", "#c9d6a3", "#8fbfa8", "#5aa3b5", "#3a7cae", "#2f5597", "#2b2f77", "#1d1440")
"""From light to dark, for ordered classes."""
_SHADES = ("#ffffff", "#8fb4d9", "#08306b")


def mix(colour: Colour, other: Colour, share: float) -> Colour:
    """Return a colour with a share of another one."""
    mixed = "#"
    for a, b in zip(parts_of(colour), parts_of(other), strict=True):
        mixed += f"{round(a + (b - a) * share):02x}"
    return mixed


def parts_of(colour: Colour) -> tuple[int, ...]:
    """Return red, green and blue from 0 to 255."""
    return tuple(bytes.fromhex(colour.removeprefix("#")))


def light(colour: Colour) -> Colour:
    """Return a lighter version, for a secondary part of the same thing."""
    return mix(colour, "#ffffff", 0.6)


def shade(share: float) -> Colour:
    """Return a colour from white for 0 to dark blue for 1."""
    white, middle, dark = _SHADES
    return mix(white, middle, 2 * share) if share < 0.5 else mix(middle, dark, 2 * share - 1)


def text_on(colour: Colour) -> Colour:
    """Return black or white, whichever has the higher contrast (WCAG 2) on a colour."""
    linear = []
    for part in parts_of(colour):
        c = part / 255
        linear.append(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
    red, green, blue = linear
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "#000000" if luminance > 0.179 else "#ffffff"


class Differences(NamedTuple):
    """What two solutions decide differently.

    Attributes
    ----------
    names
        Of the jobs, or whatever else is decided.
    words
        How many they are.
    by
        What differs of them, and is the same of the others: ``"home"``.
    """

    names: Collection[str]
    words: str
    by: str = ""


def differences(
    names: Sequence[str],
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    by: str,
    what: str = "jobs",
) -> Differences:
    """Return the things of which two solutions decide something else.

    `first`, `second`: what each decides, by the names of the things; nothing of those that are not
    in it. `by`, `what`: in words what is decided, and of what.
    """
    other = {name for name in names if first.get(name) != second.get(name)}
    return Differences(other, f"{len(other):,} of {len(names):,} {what}", by)


class Look(NamedTuple):
    """How something looks: a colour, the legend's entry that explains it, and a hatch.

    Nothing is drawn where the colour is empty, and no entry is made where the label is.
    """

    colour: Colour
    label: str = ""
    hatch: str = ""


BLANK = Look("")


@dataclass(frozen=True)
class Colouring:
    """The look of each of several things, and what the looks mean.

    Attributes
    ----------
    labels
        For each thing its entry in the legend, in the instance's order.
    key
        ``{label: colour}`` in the legend's order.
    patterns
        ``{label: hatch}`` of those that have one.
    """

    labels: tuple[str, ...]
    key: Mapping[str, Colour] = field(repr=False)
    patterns: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def colours(self) -> list[Colour]:
        """One per thing."""
        return [self.key[label] for label in self.labels]

    def look(self, thing: int) -> Look:
        """Return the look of a thing."""
        label = self.labels[thing]
        return Look(self.key[label], label, self.patterns.get(label, ""))

    def of(self, labels: Sequence[str]) -> Colouring:
        """Return the same looks for other things, by their labels."""
        return Colouring(tuple(labels), self.key, self.patterns)

    def renamed(self, words: Callable[[str], str]) -> Colouring:
        """Return the same looks with other words in the legend."""
        key = {words(label): colour for label, colour in self.key.items()}
        patterns = {words(label): hatch for label, hatch in self.patterns.items()}
        return Colouring(tuple(map(words, self.labels)), key, patterns)


def by_name(names: Sequence[str]) -> Colouring:
    """Colour by name: a name's look depends only on its place among all names.

    `names`: one per thing, of all things in the instance, drawn or not.
    """
    place = {name: i for i, name in enumerate(dict.fromkeys(names))}
    key = {name: PALETTE[i % len(PALETTE)] for name, i in place.items()}
    patterns = {
        name: hatch
        for name, i in place.items()
        if (hatch := PATTERNS[i // len(PALETTE) % len(PATTERNS)])
    }
    return Colouring(tuple(names), key, patterns)


def by_number(values: Sequence[Any], colours: Sequence[Colour] = _SEQUENCE) -> Colouring:
    """Colour by a number, larger ones darker; more than 8 values in 6 classes of equal size.

    `colours`: from light to dark.
    """
    distinct = sorted(set(values))
    classes = [(value, value) for value in distinct]
    if len(distinct) > len(_SEQUENCE):
        cuts = [round(i * len(distinct) / 6) for i in range(7)]
        classes = [(distinct[a], distinct[b - 1]) for a, b in pairwise(cuts)]
    last = max(1, len(classes) - 1)
    key = {}
    names = []
    for i, (low, high) in enumerate(classes):
        name = _number(low) if low == high else f"{_number(low)} to {_number(high)}"
        names.append(name)
        key[name] = colours[round(i * (len(colours) - 1) / last)]
    lows = [low for low, _ in classes]
    labels = [names[bisect_right(lows, value) - 1] for value in values]
    return Colouring(tuple(labels), key)


def in_use(share: float) -> str:
    """Return a share of capacity or time in words."""
    return f"{100 * share:.0f} % in use"


def scale(words: Callable[[float], str] = in_use) -> dict[str, Colour]:
    """Return what the legend says of `shade`, with words for a share."""
    return {words(share): shade(share) for share in (0, 0.25, 0.5, 0.75, 1)}


def gpus_of_a(what: str) -> Callable[[str], str]:
    """Return what makes the legend's words of a number of GPUs, of a job or a worker."""
    return lambda label: f"{label} GPU{'s' * (label != '1')} a {what}"


def _number(value: Any) -> str:
    if isinstance(value, (float, Fraction)):
        return display(float(f"{float(value):.3g}"))
    return display(value)


def default_of(names: Sequence[str], otherwise: str, *, patterned: bool = True) -> str:
    """Return ``"job"`` while every job has a look of its own, else another default.

    `patterned`: whether patterns are drawn; without them only colours distinguish.
    """
    return "job" if len(names) <= (MOST_NAMED if patterned else len(PALETTE)) else otherwise
