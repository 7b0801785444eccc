"""Placement: the home region of every table (MAST)."""

from dataclasses import dataclass

from dlsched.problems.placement.definition.check import LEVELS, check, explain
from dlsched.problems.placement.definition.schema import Instance, Job, Region, Solution, Table
from dlsched.registry import Problem, Start, When


@dataclass(frozen=True)
class Tunables:
    """What decides with which heuristics the exact method begins.

    `many_tables` and `most_tables` are those between which `tempering` finds the cheaper placements
    in 10 s, by up to 5 %; in 3 s those that `annealing` finds are up to 0.2 % cheaper on average,
    up to 150 tables (section ``limited`` of benchmarks/figures/placement.md). Up to `few_tables`
    with `few_reads` tables read, a proof takes less than a second, a third of which `annealing`
    would take: with fewer trials it takes 12 % less in the sum of 15 instances of 12 to 16 tables.
    """

    few_tables: int = 16
    few_reads: int = 100
    many_tables: int = 100
    most_tables: int = 700


TUNABLES = Tunables()


def few_tables(instance: Instance) -> bool:
    """Return whether there are so few tables that a proof follows soon."""
    reads = sum(len(job.tables) for job in instance.jobs)
    return len(instance.tables) <= TUNABLES.few_tables and reads <= TUNABLES.few_reads


def starts(instance: Instance) -> list[Start]:
    """Return the heuristics of `refinement`: after it where tables are few, as it tries some.

    From 100 tables on `tempering` finds placements that `annealing` does not. It is first as long
    as a few seconds are enough for it.
    """
    if few_tables(instance):
        return [Start("annealing", When.LAST)]
    names = ["annealing"]
    if len(instance.tables) >= TUNABLES.many_tables:
        names.insert(int(len(instance.tables) >= TUNABLES.most_tables), "tempering")
    return list(map(Start, names))


PROBLEM = Problem(
    name="placement",
    title="The home region of every table",
    source="MAST (OSDI'24), section 3",
    levels=LEVELS,
    instance=Instance,
    solution=Solution,
    definition=check,
    explain=explain,
    exact="refinement",
    bound="home_tree",
    size="tables",
    package=__name__,
    paper_method="hill_climbing",
    starts=starts,
)

__all__ = ["PROBLEM", "Instance", "Job", "Region", "Solution", "Table"]
