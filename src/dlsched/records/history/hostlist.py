"""Slurm's lists of hosts: ``a[01-02,05],b7``.

::

    list  = name ("," name)*
    name  = (text | "[" range ("," range)* "]")+
    range = digits ("-" digits)?

A range keeps the width of its first number. Not by python-hostlist, whose licence is the GPL.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product
from typing import Final

from dlsched.errors import OptionError
from dlsched.schema import brief

LARGEST: Final = 100_000
"""Most hosts that one list may stand for."""
_NAME = re.compile(r"(?:[^\[\],\s]|\[[\d,\-]+\])+", re.ASCII)
_PART = re.compile(r"\[([\d,\-]+)\]|([^\[\]]+)", re.ASCII)
_RANGE = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)
_TAIL = re.compile(r"(.*?)(\d{1,15})", re.ASCII)


def expand_hosts(text: str) -> tuple[str, ...]:
    """Return the names that a list of hosts stands for, in its order.

    Raises
    ------
    OptionError
        If it is no list of hosts, or stands for more than 100,000.
    """
    names: list[str] = []
    at = 0
    while at < len(text):
        match = _NAME.match(text, at)
        if match is None:
            raise _refused(text)
        names += _expand_name(match.group(), text)
        if len(names) > LARGEST:
            raise OptionError(f"{brief(text)!r} stands for more than {LARGEST:,} hosts")
        at = match.end()
        if at < len(text):
            if text[at] != "," or at + 1 == len(text):
                raise _refused(text)
            at += 1
    return tuple(names)


def _expand_name(name: str, text: str) -> list[str]:
    if "[" not in name:
        return [name]
    choices: list[list[str]] = []
    for numbers, plain in _PART.findall(name):
        choices.append([plain] if plain else _expand_numbers(numbers, text))
    size = 1
    for choice in choices:
        size *= len(choice)
    if size > LARGEST:
        raise OptionError(f"{brief(text)!r} stands for more than {LARGEST:,} hosts")
    return ["".join(parts) for parts in product(*choices)]


def _expand_numbers(numbers: str, text: str) -> list[str]:
    listed: list[str] = []
    for entry in numbers.split(","):
        match = _RANGE.fullmatch(entry)
        if match is None:
            raise _refused(text)
        first, last = match.groups()
        low, high = int(first), int(last or first)
        if high < low or high - low > LARGEST:
            raise _refused(text)
        listed += [str(number).zfill(len(first)) for number in range(low, high + 1)]
    return listed


def _refused(text: str) -> OptionError:
    return OptionError(f"{brief(text)!r} is no list of hosts; write it as a[01-02,05],b7")


def fold_hosts(names: Iterable[str]) -> str:
    """Return the list of hosts that stands for these names, in this order.

    Only neighbours that count up by one are folded, so that `expand_hosts` gives the same names.
    """
    groups: list[tuple[str, list[str]]] = []
    for name in names:
        match = _TAIL.fullmatch(name)
        prefix, digits = match.groups() if match else (name, "")
        if digits and groups and groups[-1][0] == prefix and groups[-1][1]:
            groups[-1][1].append(digits)
        else:
            groups.append((prefix, [digits] if digits else []))
    return ",".join(_fold(prefix, digits) for prefix, digits in groups)


def _fold(prefix: str, digits: list[str]) -> str:
    if not digits:
        return prefix
    if len(digits) == 1:
        return prefix + digits[0]
    ranges: list[list[str]] = []
    for number in digits:
        follows = ranges and str(int(ranges[-1][-1]) + 1).zfill(len(ranges[-1][0])) == number
        if follows:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    spelled = [r[0] if len(r) == 1 else f"{r[0]}-{r[-1]}" for r in ranges]
    return f"{prefix}[{','.join(spelled)}]"
