"""Names of servers as Slurm writes a list of them: ``a[01-02,05],b7``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby


def host_list(names: Iterable[str]) -> str:
    """Return names as one text; numbers at their ends are written as ranges, with leading zeros.

    The order is that of prefixes and numbers, as in Slurm.
    """
    numbered: dict[tuple[str, int], list[int]] = {}
    parts = []
    for name in sorted(set(names)):
        match = re.fullmatch(r"(.*?)(0*)(\d+)", name)
        if match is None or len(match[3]) > _DIGITS:
            parts.append(name)
            continue
        # A number with leading zeros has a width; one without has none of its own.
        width = len(match[2] + match[3]) if match[2] else 0
        numbered.setdefault((match[1], width), []).append(int(match[3]))
    for (prefix, width), numbers in numbered.items():
        ranges = _ranges(sorted(numbers), width)
        alone = len(numbers) == 1
        parts.append(prefix + (ranges if alone else f"[{ranges}]"))
    return ",".join(sorted(parts))


_DIGITS = 9
"""Digits of a number that may be part of a range; longer ones are part of the name."""


def _ranges(numbers: list[int], width: int) -> str:
    """Return ascending numbers as ``01-02,05``."""
    written = []
    for _, members in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in members]
        first, last = (f"{number:0{width}d}" for number in (run[0], run[-1]))
        written.append(first if first == last else f"{first}-{last}")
    return ",".join(written)
