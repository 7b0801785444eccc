"""Amounts of resources: ``billing=12,cpu=12,gres/gpu:a100=2``, ``gpu:a100:2``, ``500m``, ``0.5``.

``gres/gpu`` and ``gres/gpu:type`` are the same GPUs, and either may stand alone. ``gres/gpumem``,
``gres/gpuutil``, ``gres/shard`` and ``gres/mig`` are no GPUs. Older versions of Slurm print
AllocGRES and ReqGRES, as ``gpu:a100:2`` or ``gpu:2``. A slice of a GPU that NVIDIA's MIG makes,
``1g.5gb``, is as many sevenths of it as it has compute slices.
"""

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Final, NamedTuple

from dlsched.errors import OptionError
from dlsched.schema import Number, brief, simplify

UNITS: Final = {
    **{"": Fraction(1), "m": Fraction(1, 1000)},
    **{letter: Fraction(1024) ** (i + 1) for i, letter in enumerate("KMGTP")},
}
"""What a letter after a number multiplies it by."""
SLICES: Final = {f"{n}g": Fraction(n, 7) for n in (1, 2, 3, 4, 7)}
"""Share of a GPU that a slice of MIG has, by how its profile begins: 1g.5gb, 3g.20gb."""
_AMOUNT = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)([KMGTPm]?)(?:i?B?)?", re.ASCII)
_SLICE = re.compile(r"(?:.*[._:-])?([12347]g)\.\d+gb.*", re.ASCII)
_GPU: Final = "gres/gpu"


class Gpus(NamedTuple):
    """The GPUs of a job.

    Attributes
    ----------
    number
        Their number; of shares, each is one.
    kind
        Their type if it is known; several types are joined, as ``a100+v100``.
    share
        What they are together, where some of them are shares.
    slices
        What such shares are called, as ``1g.5gb``.
    parts
        How many of the number are shares.
    """

    number: int
    kind: str | None = None
    share: Number | None = None
    slices: str | None = None
    parts: int = 0


def parse_amount(text: str) -> Number:
    """Return a number that may end in K, M, G, T or P, each 1,024 times the one before, or in m."""
    match = _AMOUNT.fullmatch(text)
    if match is None:
        raise OptionError(f"{brief(text)!r} is no amount; write it as 12, 4K or 62.50G")
    return simplify(Fraction(Decimal(match[1])) * UNITS[match[2]])


def parse_tres(text: str) -> dict[str, Number]:
    """Return the amounts by name."""
    amounts: dict[str, Number] = {}
    for entry in text.split(",") if text else ():
        name, equals, amount = entry.partition("=")
        if not name or not equals or name in amounts:
            raise OptionError(f"{brief(text)!r} is no list of resources, as cpu=12,gres/gpu=2")
        amounts[name] = parse_amount(amount)
    return amounts


def gpus_of(amounts: Mapping[str, Number]) -> Gpus:
    """Return the GPUs among some resources.

    If the sum of the types and ``gres/gpu`` differ, the larger counts.
    """
    kinds = {
        name[len(_GPU) + 1 :]: int(amount)
        for name, amount in amounts.items()
        if name.startswith(_GPU + ":") and amount
    }
    return _gpus(kinds, int(amounts.get(_GPU, 0)))


def _gpus(kinds: Mapping[str, int], total: int) -> Gpus:
    """Return the GPUs of some types, of which some may be slices."""
    total = max(total, sum(kinds.values()))
    kind = "+".join(sorted(filter(None, kinds))) or None
    parts = {name: match[1] for name in kinds if (match := _SLICE.fullmatch(name))}
    if not parts:
        return Gpus(total, kind)
    units = sum(kinds[name] for name in parts)
    share = total - units + sum(SLICES[profile] * kinds[name] for name, profile in parts.items())
    return Gpus(total, kind, simplify(Fraction(share)), "+".join(sorted(parts)), units)


def parse_gres(text: str) -> Gpus:
    """Return the GPUs of AllocGRES or ReqGRES: ``gpu:a100:2``, ``gres:gpu:2``, ``gpu``."""
    kinds: dict[str, int] = {}
    for entry in text.split(","):
        plain = re.sub(r"\(.*?\)", "", entry.strip()).removeprefix("gres:").replace("=", ":")
        name, *parts = plain.split(":")
        if name not in ("gpu", _GPU):
            continue
        is_last = bool(parts) and parts[-1].isdecimal()
        amount = int(parse_amount(parts.pop())) if is_last else 1
        kind = parts[0] if parts else ""
        kinds[kind] = kinds.get(kind, 0) + amount
    return _gpus(kinds, 0)


def parse_gpus(text: str) -> Gpus | None:
    """Return the GPUs of a cell: ``2``, ``2.0``, ``0.5``, ``gpu:volta:2``; None if it is empty."""
    if text.lower() in ("", "none", "nan", "null", "n/a", "<na>"):
        return None
    if re.match(r"(gres[:/])?gpu\b", text):
        return parse_tres_gpus(text) if "=" in text else parse_gres(text)
    if not re.fullmatch(r"\d{1,9}(\.\d{1,15})?", text, re.ASCII):
        raise OptionError(f"{brief(text)!r} is no number of GPUs; write it as 8 or gpu:a100:8")
    share = simplify(Fraction(text))
    return Gpus(math.ceil(share), None, None if isinstance(share, int) else share)


def parse_tres_gpus(text: str) -> Gpus:
    """Return the GPUs of AllocTRES or ReqTRES."""
    return gpus_of(parse_tres(text))
