"""Placement: the home region of every table (MAST)."""

from dlsched.problems.placement.definition.check import LEVELS, check, explain
from dlsched.problems.placement.definition.schema import Instance, Job, Region, Solution, Table
from dlsched.problems.placement.structures.small import few_tables
from dlsched.registry import Problem, Start, When

_MANY_TABLES, _TOO_MANY_TABLES = 100, 700
"""Between these `tempering` finds the cheaper placements in 10 s, by up to 5 %; in 3 s those that
`annealing` finds are up to 0.2 % cheaper on average, up to 150 tables."""


def starts(instance: Instance) -> list[Start]:
    """Return the heuristics of `milp`: after it where tables are few, as it makes some trials.

    From 100 tables on `tempering` finds placements that `annealing` does not. It is first as long
    as a few seconds are enough for it.
    """
    if few_tables(instance):
        return [Start("annealing", When.LAST)]
    names = ["annealing"]
    if len(instance.tables) >= _MANY_TABLES:
        names.insert(int(len(instance.tables) >= _TOO_MANY_TABLES), "tempering")
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
    exact="milp",
    bound="indivisible_bound",
    size="tables",
    package=__name__,
    paper_method="hill_climbing",
    starts=starts,
)

__all__ = ["PROBLEM", "Instance", "Job", "Region", "Solution", "Table"]
