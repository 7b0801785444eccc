"""Tunables of column generation, of small instances and of large ones."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tunables:
    """Numbers of `column_generation`, `aggregated` and `lagrangian`.

    `many_profiles` is from benchmarks/figures/interleaving.md, "The size from which the relaxation
    is another". That few groups are all columns took a round of Muri from seven or eight integer
    programs to one. The other values were chosen by hand and not measured one by one.
    """

    rounds: int = 200
    """Rounds of neighbourhood search without progress after which the search ends."""
    swapped_groups: int = 400
    """With more first groups no local search improves them: it tries every pair."""
    swap_passes: int = 20
    """Most passes of that local search."""
    relaxation_share: float = 0.6
    """Largest share of the time limit for the relaxation."""
    many_profiles: int = 150
    """Profiles of one class from which on the relaxation is that of `large_relaxation`."""
    quota: int = 5
    """Groups with the same first profile that one round of pricing returns."""
    capacity: int = 200_000
    """Groups of a class that one round of pricing returns."""
    pairs_at_once: int = 20_000_000
    """Pairs of jobs that pricing extends, roughly, between two checks of the time limit."""
    penalty: float = 100.0
    """Cost of a pair of jobs that must not share, in units of all that groupings can be worth."""
    few_groups: int = 3_000
    """Most groups that are all columns from the start, decided in one integer program; up to so
    many the model is the form of a proof."""
    most_columns: int = 60_000
    """Most groups of an integer program."""
    first_slack: float = 4e-6
    """Distance to the largest reduced value, for each profile, of the first integer program."""
    patience: float = 20.0
    """Least seconds for an integer program that proves nothing."""
    patience_share: float = 0.1
    """Its seconds after a long search, as a share of those spent so far."""
    rough_gap: float = 1e-4
    """Relative gap at which an integer program that proves nothing may end."""
    removed_groups: int = 10
    """Groups that the neighbourhood search removes first; as many as its programs allow later."""
    fewest_removed: int = 4
    most_removed: int = 24
    """Limits of that number."""
    removed_quota: int = 40
    """As `quota`, for groups of the jobs removed."""
    removed_capacity: int = 50_000
    """As `capacity`, for groups of the jobs removed."""
    removed_seconds: float = 3.0
    """Time limit of one integer program over these."""


TUNABLES = Tunables()


@dataclass(frozen=True)
class LargeTunables:
    """Numbers of `large_relaxation` and of its passes; worths are per unit of a class's weight.

    Chosen by hand on generated instances and not measured one by one. What they give together is in
    benchmarks/figures/interleaving.md, "The relaxation of large instances" and "A thousand jobs of
    eight models", whose seeds were not used for it. A job of a group of four costs about 0.16.
    """

    representatives: int = 150
    """Parts of the jobs, roughly, with a representative each."""
    wide_gap: float = 0.25
    """Jobs are divided at a gap in their values of this share of the range; else in the middle."""
    balancings: int = 6
    """Times that jobs share what their groups exceed the prices by, before the rough pass."""
    rounds: int = 40
    """Most solutions of the master between two exact passes."""
    width: float = 0.02
    """Half-width of the box around the prices."""
    sample_width: float = 0.1
    """That of the box around the representatives' prices."""
    near: float = 0.01
    """How far below 0 a group's reduced value may be that is a column from the start."""
    above: float = 1e-7
    """Reduced value from which a group becomes a column."""
    columns_of_row: int = 30
    """Most columns for each row."""
    outside: float = 1e-4
    """Share of the jobs that may be left to the box when it counts as large enough."""
    capacity: int = 100_000
    """Groups of a class that a pass lists; with more the prices are raised by their shares."""
    pairs_at_once: int = 8_000_000
    """Pairs of jobs of a pass with the same two before them, roughly, between two checks."""
    rough_above: float = 0.02
    """Reduced value up to which the rough pass does not tell groups apart."""
    before_rough: float = 0.3
    """Share of the time after which the rough pass begins, so that it ends before the deadline."""
    before_pass: float = 0.6
    """That of the first exact pass."""
    slower: float = 1.5
    """Time kept for the next exact pass, in units of the last one's."""
    first_close: float = 1e-4
    """Relative distance of bound and relaxation before the first exact pass."""
    closer: float = 0.1
    """Factor of that distance for each of the next ones."""
    closed: float = 1e-6
    """Relative distance at which the relaxation counts as solved."""
    sweeps: int = 8
    """Most rounds of coordinate ascent over all places of a group; most starts take three."""
    starts_at_once: int = 1 << 16
    """Starts times profiles that are computed at once: what fits into a processor's cache."""
    kept_groups: int = 2
    """Groups that the ascent keeps of every place of every start: the best and the next."""


LARGE = LargeTunables()
