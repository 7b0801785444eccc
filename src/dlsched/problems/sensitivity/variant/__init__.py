"""Hooks of variants: which jobs may be on one server, and what the model leaves out."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tunables:
    """Numbers of the method with a rule, chosen by hand and not measured one by one.

    benchmarks/figures/variants.md shows what they give together.
    """

    share: float = 0.7
    """Of the time limit, for the instance without the rule."""
    most_variables: int = 2_000
    """Upper limit of the triples of job, choice and server of a model solved with the rule."""
    most_steps: int = 4_000
    """Changes of places that are tried before the search ends without success."""
    tried: int = 60
    """Places that are tried for a part in a step."""
    uphill: float = 0.05
    """Share of changes without gain that are made nevertheless."""
    most_asked: int = 200_000
    """Most sets of parts of which the rule is asked."""
    most_checked: int = 20_000
    """Up to this number of sets that fit a server's GPUs, the rule is asked of each."""
    probed: int = 100
    """Sets that are not allowed which are tried with more of a job."""


TUNABLES = Tunables()
