"""What `refinement` and the bounds are tuned by, and the precision of their arithmetic."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Tunables:
    """One dataclass for all, as the bounds are parts of the exact method.

    The bounds that these values give are in the sections ``few``, ``stronger``,
    ``stronger_thousand`` and ``held_back`` of benchmarks/figures/placement.md. Single values were
    chosen by hand; no figure compares them.
    """

    few_schedules: int = 4
    few_trials: int = 1_000
    """Of annealing where a proof follows soon: schedules, and trials in each for each table. With
    one schedule the optimum is missed more often, and a second integer program is solved."""
    most_excluded: int = 100
    """Placements that are excluded one by one before the search ends with the gap that is left."""
    proved_tables: int = 40
    """Up to this many tables HiGHS seeks no placements in smaller integer programs and does not
    restart, which take two fifths of its time at 12 to 24 tables. With more tables the tree rarely
    ends, and they find better placements."""
    compiling: float = 0.5
    """Pyomo's time to turn a model into arrays, at least, as a share of the time to build it."""
    most_homes: int = 1_000
    """Of the largest tables, all of which are tried for a bound on the storage part. With 4 to
    1,000 tables those of three are as good as a search over all."""
    job_steps: int = 3_000_000
    """Of each search over jobs: the nodes times jobs times regions."""
    job_nodes: int = 200
    hurried_nodes: int = 30
    """Nodes of it at least, and after the end of a limit, which take some milliseconds."""
    first_tangents: tuple[float, ...] = (-1, -0.5, -0.2, 0, 0.1, 0.25, 0.5, 1)
    """Where the first tangents touch, as fractions of the range below and above 0."""
    first_steps: tuple[float, ...] = (0.05, 0.15, 0.3, 0.6)
    """Loads of the first steps of the sigmoid, in mean supplies above the supply."""
    most_gaps: int = 16
    """Up to this many gaps between demands all have a chord from the start."""
    most_sums: int = 1_000
    """With more demands the gaps are too small to matter."""
    large: int = 20_000
    """Entries of a matrix up to which simplex is faster than interior point."""
    certified: int = 100_000
    """Entries up to which an exact bound from duals takes less than 0.3 s; then it is computed
    after the end of a limit, too."""
    huge: int = 300_000
    """Entries from which rows that say little are left out."""
    tangent_rounds: int = 12
    spreading_rounds: int = 40
    """Solutions of the relaxation at most."""
    least_increase: float = 1e-3
    """Relative increase of an exact optimum; a round of tangents that gains less is the last."""
    look_back: int = 3
    """The search ends when this number of rounds of spreading rows together gain less."""
    spreading_part: float = 0.9
    """Of what is left of a limit, for spreading rows."""
    rounds_part: float = 0.6
    """Of this, before the last solution."""
    accuracies: tuple[float, ...] = (1e-1, 3e-2)
    """Of interior point in rounds of spreading rows, the next one where the last leaves few rows;
    the last one also before these rounds. A rough optimum is in the middle of many points that are
    nearly optimal, and rows that cut it off hold for longer: 100 x 5 x 300 with seed 3 takes half
    the time of 1e-4."""
    last_accuracy: float = 1e-4
    """Of the last solution, whose duals give the bound."""
    few_rows: float = 0.03
    """Of the most rows of a round."""
    light_reads: Fraction = Fraction(1, 1000)
    """Part of all bytes read that is left out of relaxations with many tables."""
    least_reach: float = 1e-4
    """Who runs in a region to a lesser part is no beginning of a path."""
    most_distances: int = 20_000_000
    """Beginnings of paths times nodes, half a gigabyte; the lightest nodes are none beyond it."""
    violation: float = 1e-3
    """A row that is violated by less, of a tenth of a thousandth or of the square, is not added."""
    pairs_violation: float = 0.1
    """Likewise a row of pairs, in thousandths of the square."""
    light_nodes: tuple[float, float] = (0.02, 0.1)
    """Of models below and from `huge` on: the lightest nodes with this part of the weight have no
    column of pairs."""
    pairs: tuple[float, float] = (0.97, 0.9)
    """Likewise: a row has the pairs that make up this share of what it says at the point."""
    searches: int = 10
    """Of paths; sources of similar reach are searched from together, no farther than they reach."""


TUNABLES = Tunables()


@dataclass(frozen=True)
class Precision:
    """Numbers of the arithmetic between exact amounts, doubles, and solvers' tolerances."""

    reduced_cost: float = 1e-7
    """A solver's tolerance on reduced costs, in the unit that it sees."""
    negligible: float = 1e-9
    """Sums of squares and increases of the sigmoid that are left out of the estimate."""
    largest_sum: int = 10**6
    """A row of whole numbers with at most this sum is not scaled."""
    scale: int = 1000
    largest_entry: int = 10**6
    """Of any other row the limit, and the largest coefficient."""
    digits: int = 7
    """Decimal places of the points of tangents; rounding one changes the estimate by the square of
    the rounding error only."""
    overload: float = 1e-12
    """As a share of the demand: less is rounding."""
    most_units: int = 2**50
    """All demand in units: with more, gaps are too small to matter as well."""
    same_demand: float = 1e-6
    """Shares of demand closer than this are equal within a solver's tolerances."""
    shortest: float = 1e-9
    """Length of a step that cannot fail, as a sparse matrix has no entries of 0."""


PRECISION = Precision()
