"""Tunables of `dantzig_wolfe` and `lagrangian`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tunables:
    """Tunables of the search for prices, and of that for schedules beside it.

    All were chosen by hand on generated instances of 8 to 480 jobs; no figure compares other
    values. What the search for prices reaches with these: "Certified bounds" and "Bounds of the
    library's open instances" of benchmarks/figures/utility.md; the whole method: its sections by
    size.
    """

    periods: int = 12
    """Periods of equal, and of growing, length in the first master."""
    most_rows: int = 1_000
    """With more rows the master's simplex takes longer than its prices are worth."""
    merged: float = 0.8
    """With more periods, as a share of the slots, no slots are merged."""
    coarse: float = 1e-3
    """Where the master's optimum and the bound are this near, merged slots are done."""
    fine: float = 1e-7
    """The same for single slots."""
    missing: float = 1e3
    """What the master pays for a job that must finish without a schedule; utilities are up to 1."""
    first_share: float = 0.2
    """The most time of the first search for a schedule, as a share of the limit."""
    rounds: int = 300
    """Rounds of a neighbourhood search, for each job; later ones are longer."""
    prices_share: float = 0.6
    """The most time of the search for prices, as a share of the limit."""
    most_direct: int = 1_500
    """Up to this many triples of job, slot and speed the integer program closes the gap at once."""
    direct_rounds: int = 8
    """Rounds of the neighbourhood search before that, for each job and each of all jobs."""
    most_closing: int = 5_000
    """Up to this many triples it may close the gap after a search for a better incumbent."""
    fewest_jobs: int = 4
    """With fewer jobs there are no neighbourhoods to search."""
    patience: int = 5
    """Rounds of search without a better incumbent after which a run without a limit ends."""
    other_share: float = 0.3
    """The most time of a search from another schedule, as a share of what is left."""
    improving_share: float = 0.6
    """The most time of a search from the incumbent, likewise."""


TUNABLES = Tunables()
