"""Tunables of Muri's matchings and of `regroup`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class MatchingTunables:
    """Numbers of the matchings of `muri`, of the searches that begin from them, and of `blossom`.

    `seconds_an_edge` was measured: 2.5 to 3.7e-5 s with 17 to 112 thousand edges on 500 and 1,000
    nodes. The others were chosen by hand; benchmarks/figures/interleaving.md, "`muri`, all rounds",
    has the times that they give together.
    """

    degree: int = 8
    """Edges per node of the first matching, those of least slack."""
    many_edges: int = 20
    """With more edges per node in the second matching, odd sets take less time."""
    odd_set_rounds: int = 12
    """Most linear programs of odd sets: the first few sets close most of the gap."""
    seconds_an_edge: float = 4e-5
    """Of a matching with many edges."""
    alike: int = 4
    """Mean groups of a type from which on matching types is faster than matching groups."""
    share: float = 0.1
    """Of the time that is left, for a matching that a search only begins from."""


MATCHING = MatchingTunables()


@dataclass(frozen=True)
class RegroupTunables:
    """Numbers of `regroup`.

    Chosen by hand and not measured one by one; benchmarks/figures/interleaving.md, "The paper's
    heuristic, ours, and the exact method", has what they give together, also on held-back seeds.
    """

    rounds: int = 3
    """Rounds in which groups are mixed."""
    mixed_groups: int = 3
    """Groups whose jobs are mixed before a round."""
    few_multisets: int = 4000
    """With no more multisets of profiles the integer program takes a few times Muri's time."""
    gap: float = 5e-3
    """Relative gap of the integer program."""
    largest_gpus: int = 10**6
    """Largest coefficient of its row of GPUs; solvers' tolerances are absolute."""
    lowest_price: float = 1e-4
    highest_price: float = 1.0
    """Range of the price of a GPU, in efficiency."""
    halvings: int = 8
    """How often the range of the price's logarithm is halved."""


REGROUP = RegroupTunables()
