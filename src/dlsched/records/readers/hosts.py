"""Slurm's lists of hosts: ``a[01-02,05],b7``.

::

    list  = name ("," name)*
    name  = (text | "[" range ("," range)* "]")+
    range = digits ("-" digits)?

A range keeps the width of its first number. Not by python-hostlist, whose licence is the GPL.
"""

from __future__ import annotations

import json
import re
from itertools import product
from typing import Final

from dlsched.errors import OptionError
from dlsched.schema import brief

LARGEST: Final = 100_000
"""Most hosts that one list may stand for."""
_NAME = re.compile(r"(?:[^\[\],\s]|\[[\d,\-]+\])+", re.ASCII)
_PART = re.compile(r"\[([\d,\-]+)\]|([^\[\]]+)", re.ASCII)
_RANGE = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)


def expand_hosts(text: str) -> tuple[str, ...]:
    """Return the names that a list of hosts stands for, in its order."""
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


NO_NODES: Final = frozenset({"", "none assigned", "none", "(null)", "unknown", "n/a", "nan"})
"""What stands for the nodes of a job without nodes, in lower case."""
Nodes = tuple[tuple[str, ...], tuple[int, ...]]
"""Names, and how much was held on each; no amounts if these are not recorded."""


def parse_nodes(text: str) -> Nodes:
    """Return the nodes of a cell: hosts with commas, blanks or ``+``, or ``[["n1", 4]]``."""
    if text.lower() in NO_NODES:
        return (), ()
    if text.startswith("["):
        try:
            pairs = [(str(name), int(amount)) for name, amount in json.loads(text)]
        except (ValueError, TypeError, RecursionError):
            raise _refused(text) from None
        return tuple(name for name, _ in pairs), tuple(amount for _, amount in pairs)
    return expand_hosts(text.replace("+", ",").replace(" ", ",")), ()
