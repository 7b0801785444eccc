"""Goodput: how fast a model trains, by GPUs, if its batch size is always the best (Pollux)."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, Final, NamedTuple, Self

from pydantic import Field, model_validator

from dlsched.problems.configurations.instances.profiles import goodput
from dlsched.schema import Amount, Document, Flaw, PositiveAmount, PositiveCount, derived

LARGEST: Final = 10**9
"""Of every number of a profile; larger ones would overflow in the formula's powers."""


class Goodput(Document):
    """What a model's goodput follows from, as the public profiles of Sia have it.

    The formula is that of `dlsched.problems.configurations.instances.profiles`.

    Attributes
    ----------
    first_batch, largest_batch
        Samples of a batch: that of which every sample counts, and the most.
    least_local
        Fewest samples that one GPU takes at once.
    noise
        Noise scale of the gradients at `first_batch`, in parts of the training of as many samples.
    types
        By type of GPU: most samples that one takes at once; seconds to compute, and per sample;
        seconds to synchronise between servers, and per GPU above two; the same within a server; the
        exponent of their overlap, from 1 to 10.
    """

    first_batch: PositiveCount
    largest_batch: PositiveCount
    least_local: PositiveCount = 1
    noise: tuple[Amount, ...]
    types: dict[str, Annotated[tuple[PositiveAmount, ...], Field(min_length=8, max_length=8)]]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.noise or not self.types:
            name = "types" if self.noise else "noise"
            raise Flaw((name,), "is empty", "give at least one entry")
        if self.largest_batch < self.first_batch:
            raise Flaw(("largest_batch",), "is below first_batch", "give the most samples")
        if max(*self.noise, self.largest_batch, self.least_local) > LARGEST:
            raise Flaw(("noise",), f"or a batch is above {LARGEST}", "write a smaller number")
        for kind, numbers in self.types.items():
            if max(numbers) > LARGEST or not 1 <= numbers[-1] <= 10:
                problem = f"has a number above {LARGEST}, or an exponent that is not from 1 to 10"
                raise Flaw(("types", kind), problem, "give the fitted numbers in seconds")
        return self

    @derived
    def numbers(self) -> _Numbers:
        """The same as plain numbers, by which values are kept."""
        types = tuple((k, tuple(map(float, row))) for k, row in sorted(self.types.items()))
        batches = self.first_batch, self.largest_batch, self.least_local
        return _Numbers(*batches, tuple(map(float, self.noise)), types)

    def samples(self, part: int, kind: str, servers: int, gpus: int) -> Fraction:
        """Return samples per second, to six digits; 0 where no batch size is possible.

        Each counts as much as in a batch of `first_batch`.

        Parameters
        ----------
        part
            Which entry of `noise`.
        kind
            Type of the GPUs.
        servers, gpus
            Servers and GPUs.
        """
        return _samples(self.numbers, part, kind, servers > 1, gpus)


class _Numbers(NamedTuple):
    first_batch: int
    largest_batch: int
    least_local: int
    noise: tuple[float, ...]
    types: tuple[tuple[str, tuple[float, ...]], ...]


@lru_cache(maxsize=100_000)
def _samples(numbers: _Numbers, part: int, kind: str, several: bool, gpus: int) -> Fraction:
    training: dict[str, Any] = numbers._asdict() | {"types": dict(numbers.types)}
    if kind not in training["types"]:
        return Fraction(0)
    return Fraction(f"{goodput(training, kind, part, 1 + several, gpus):.6g}")
