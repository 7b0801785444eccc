"""Slurm's trackable resources: ``billing=12,cpu=12,gres/gpu:a100=2,gres/gpu=2,mem=31000M``.

::

    list   = entry ("," entry)*
    entry  = name "=" amount
    amount = digits ("." digits)? ("K" | "M" | "G" | "T" | "P")?

``gres/gpu`` and ``gres/gpu:type`` are the same GPUs, and either may stand alone. ``gres/gpumem``,
``gres/gpuutil``, ``gres/shard`` and ``gres/mig`` are no GPUs. Older versions print AllocGRES and
ReqGRES instead, as ``gpu:a100:2`` or ``gpu:2``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Final, NamedTuple

from dlsched.errors import OptionError
from dlsched.schema import Number, brief, simplify

UNITS: Final = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}
"""What a letter after a number multiplies it by."""
_AMOUNT = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)([KMGTP]?)(?:i?B?)?", re.ASCII)
_GPU = "gres/gpu"


class Gpus(NamedTuple):
    """The GPUs of a job: their number, and their type if it is known."""

    number: int
    kind: str | None


def parse_amount(text: str) -> Number:
    """Return a number that may end in K, M, G, T or P, each 1,024 times the one before.

    Raises
    ------
    OptionError
        If it is none.
    """
    match = _AMOUNT.fullmatch(text)
    if match is None:
        raise OptionError(f"{brief(text)!r} is no amount; write it as 12, 4K or 62.50G")
    return simplify(Fraction(Decimal(match[1])) * UNITS[match[2]])


def parse_tres(text: str) -> dict[str, Number]:
    """Return the amounts by name.

    Raises
    ------
    OptionError
        If it is no list of resources.
    """
    amounts: dict[str, Number] = {}
    for entry in text.split(",") if text else ():
        name, equals, amount = entry.partition("=")
        if not name or not equals or name in amounts:
            raise OptionError(f"{brief(text)!r} is no list of resources, as cpu=12,gres/gpu=2")
        amounts[name] = parse_amount(amount)
    return amounts


def gpus_of(amounts: Mapping[str, Number]) -> Gpus:
    """Return the GPUs among some resources; several types are joined, as ``a100+v100``.

    If the sum of the types and ``gres/gpu`` differ, the larger counts.
    """
    kinds = {
        name[len(_GPU) + 1 :]: int(amount)
        for name, amount in amounts.items()
        if name.startswith(_GPU + ":") and amount
    }
    total = max(int(amounts.get(_GPU, 0)), sum(kinds.values()))
    return Gpus(total, "+".join(sorted(kinds)) or None)


def parse_gres(text: str) -> Gpus:
    """Return the GPUs of AllocGRES or ReqGRES: ``gpu:a100:2``, ``gpu:2``, ``gres:gpu:2``, ``gpu``.

    Raises
    ------
    OptionError
        If a number is none.
    """
    total = 0
    kinds: set[str] = set()
    for entry in text.split(","):
        plain = re.sub(r"\(.*?\)", "", entry).removeprefix("gres:").replace("=", ":")
        name, *parts = plain.split(":")
        if name not in ("gpu", _GPU):
            continue
        amount = parts.pop() if parts and parts[-1][:1].isdigit() else "1"
        total += int(parse_amount(amount))
        kinds.update(part for part in parts if part)
    return Gpus(total, "+".join(sorted(kinds)) or None)
