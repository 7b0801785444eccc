"""What `refinement` and the bounds are tuned by, and the precision of their arithmetic."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Tunables:
    """One dataclass for all, as the bounds are parts of the exact method.

    The bounds that these values give are in the sections ``few``, ``stronger``,
    ``stronger_thousand`` and ``held_back`` of benchmarks/figures/placement.md. Single values were
    chosen by hand; no figure compares them.

    Attributes
    ----------
    few_schedules, few_trials
        Of annealing where a proof follows soon: schedules, and trials in each for each table. With
        one schedule the optimum is missed more often, and a second integer program is solved.
    most_excluded
        Placements that are excluded one by one before the search ends with the gap that is left.
    proved_tables
        Up to this many tables HiGHS seeks no placements in smaller integer programs and does not
        restart, which take two fifths of its time at 12 to 24 tables. With more tables the tree
        rarely ends, and they find better placements.
    compiling
        Pyomo's time to turn a model into arrays, at least, as a share of the time to build it.
    most_homes
        Of the largest tables, all of which are tried for a bound on the storage part. With 4 to
        1,000 tables those of three are as good as a search over all.
    job_steps, job_nodes, hurried_nodes
        Of each search over jobs: the nodes times jobs times regions, the nodes at least, and those
        after the end of a limit, which take some milliseconds.
    first_tangents, first_steps
        Where the first tangents touch, as fractions of the range below and above 0; loads of the
        first steps of the sigmoid, in mean supplies above the supply.
    most_gaps, most_sums
        Up to this many gaps between demands all have a chord from the start; with more demands the
        gaps are too small to matter.
    large, certified, huge
        Entries of a matrix: up to which simplex is faster than interior point; an exact bound from
        duals takes less than 0.3 s, and is computed after the end of a limit, too; from which rows
        that say little are left out.
    tangent_rounds, spreading_rounds
        Solutions of the relaxation at most.
    least_increase, look_back
        Relative increase of an exact optimum. A round of tangents that gains less is the last, as
        are `look_back` rounds of spreading rows.
    spreading_part, rounds_part
        Of what is left of a limit, for spreading rows; and of this, before the last solution.
    accuracies, last_accuracy
        Of interior point: in rounds of spreading rows, the next one where the last leaves few rows,
        and the last one before these rounds; and of the last solution, whose duals give the bound.
        A rough optimum is in the middle of many points that are nearly optimal, and rows that cut
        it off hold for longer: 100 x 5 x 300 with seed 3 takes half the time of 1e-4.
    few_rows
        Of the most rows of a round.
    light_reads
        Part of all bytes read that is left out of relaxations with many tables.
    least_reach
        Who runs in a region to a lesser part is no beginning of a path.
    most_distances
        Beginnings of paths times nodes, half a gigabyte; the lightest nodes are none beyond it.
    violation, pairs_violation
        A row that is violated by less, of a tenth of a thousandth or of the square, is not added;
        and a row of pairs, in thousandths of the square.
    light_nodes, pairs
        Of models below and from `huge` on: the lightest nodes with this part of the weight have no
        column of pairs; and a row has the pairs that make up this share of what it says at the
        point, the largest first.
    searches
        Of paths; sources of similar reach are searched from together, no farther than they reach.
    """

    few_schedules: int = 4
    few_trials: int = 1_000
    most_excluded: int = 100
    proved_tables: int = 40
    compiling: float = 0.5
    most_homes: int = 1_000
    job_steps: int = 3_000_000
    job_nodes: int = 200
    hurried_nodes: int = 30
    first_tangents: tuple[float, ...] = (-1, -0.5, -0.2, 0, 0.1, 0.25, 0.5, 1)
    first_steps: tuple[float, ...] = (0.05, 0.15, 0.3, 0.6)
    most_gaps: int = 16
    most_sums: int = 1_000
    large: int = 20_000
    certified: int = 100_000
    huge: int = 300_000
    tangent_rounds: int = 12
    spreading_rounds: int = 40
    least_increase: float = 1e-3
    look_back: int = 3
    spreading_part: float = 0.9
    rounds_part: float = 0.6
    accuracies: tuple[float, ...] = (1e-1, 3e-2)
    last_accuracy: float = 1e-4
    few_rows: float = 0.03
    light_reads: Fraction = Fraction(1, 1000)
    least_reach: float = 1e-4
    most_distances: int = 20_000_000
    violation: float = 1e-3
    pairs_violation: float = 0.1
    light_nodes: tuple[float, float] = (0.02, 0.1)
    pairs: tuple[float, float] = (0.97, 0.9)
    searches: int = 10


TUNABLES = Tunables()


@dataclass(frozen=True)
class Precision:
    """Numbers of the arithmetic between exact amounts, doubles, and solvers' tolerances.

    Attributes
    ----------
    reduced_cost
        A solver's tolerance on reduced costs, in the unit that it sees.
    negligible
        Sums of squares and increases of the sigmoid that are left out of the estimate.
    largest_sum, scale, largest_entry
        A row of whole numbers with at most this sum is not scaled; of any other row the limit, and
        the largest coefficient.
    digits
        Decimal places of the points of tangents; rounding one changes the estimate by the square of
        the rounding error only.
    overload
        As a share of the demand: less is rounding.
    most_units, same_demand
        All demand in units: with more, gaps are too small to matter as well. Shares of demand
        closer than this are equal within a solver's tolerances.
    shortest
        Length of a step that cannot fail, as a sparse matrix has no entries of 0.
    """

    reduced_cost: float = 1e-7
    negligible: float = 1e-9
    largest_sum: int = 10**6
    scale: int = 1000
    largest_entry: int = 10**6
    digits: int = 7
    overload: float = 1e-12
    most_units: int = 2**50
    same_demand: float = 1e-6
    shortest: float = 1e-9


PRECISION = Precision()
