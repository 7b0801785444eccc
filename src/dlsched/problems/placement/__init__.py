"""Placement: the home region of every table (MAST)."""

from dlsched.problems.placement.definition.check import LEVELS, check, explain
from dlsched.problems.placement.definition.schema import Instance, Job, Region, Solution, Table
from dlsched.problems.placement.structures.small import few_tables, very_few_tables
from dlsched.registry import Problem, Start, When


def starts(instance: Instance) -> list[Start]:
    """Return the heuristic of `milp`: after it where tables are few, as it begins with some trials.

    `annealing`'s loops are compiled unless tables are very few.
    """
    name = "short_annealing" if very_few_tables(instance) else "annealing"
    return [Start(name, When.LAST if few_tables(instance) else When.LIMITED)]


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
