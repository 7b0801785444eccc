"""Slurm's lists of hosts, ``a[01-02,05],b7``, and what else tables have for nodes.

A range keeps the width of its first number. Not by python-hostlist, whose licence is the GPL.
"""

import json
import math
import re
from itertools import product
from typing import Final

from dlsched.errors import OptionError
from dlsched.schema import brief

LARGEST: Final = 100_000
"""Most hosts that one list may stand for."""
_NAME: Final = r"(?:[^\[\],\s]|\[\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*\])+"
_LIST = re.compile(f"{_NAME}(?:,{_NAME})*", re.ASCII)
_PART = re.compile(r"\[([\d,\-]+)\]|([^\[\]]+)", re.ASCII)


def expand_hosts(text: str) -> tuple[str, ...]:
    """Return the names that a list of hosts stands for, in its order."""
    if text and not _LIST.fullmatch(text):
        raise _refused(text)
    names: list[str] = []
    for name in re.findall(_NAME, text, re.ASCII):
        parts = _PART.findall(name)
        choices = [[plain] if plain else _expand_numbers(numbers, text) for numbers, plain in parts]
        size = math.prod(map(len, choices))
        if len(names) + size > LARGEST:
            raise OptionError(f"{brief(text)!r} stands for more than {LARGEST:,} hosts")
        names += map("".join, product(*choices))
    return tuple(names)


def _expand_numbers(numbers: str, text: str) -> list[str]:
    listed: list[str] = []
    for entry in numbers.split(","):
        first, _, last = entry.partition("-")
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
