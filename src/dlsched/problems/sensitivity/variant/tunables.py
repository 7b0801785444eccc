"""Numbers of the method with a rule on the jobs of a server."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tunables:
    """Chosen by hand, not measured; benchmarks/figures/variants.md shows what they give.

    Attributes
    ----------
    share
        Of the time limit, for the instance without the rule.
    most_variables
        Upper limit of the triples of job, choice and server of a model solved with the rule.
    most_steps
        Changes of places that are tried before the search ends without success.
    tried
        Places that are tried for a part in a step.
    uphill
        Share of changes without gain that are made nevertheless.
    most_asked
        Most sets of parts of which the rule is asked.
    most_checked
        Up to this number of sets that fit a server's GPUs, the rule is asked of each.
    probed
        Sets that are not allowed which are tried with more of a job.
    """

    share: float = 0.7
    most_variables: int = 2_000
    most_steps: int = 4_000
    tried: int = 60
    uphill: float = 0.05
    most_asked: int = 200_000
    most_checked: int = 20_000
    probed: int = 100


TUNABLES = Tunables()
