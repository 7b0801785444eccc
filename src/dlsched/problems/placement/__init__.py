"""Placement: the home region of every table (MAST)."""

from dlsched.problems.placement.definition.check import LEVELS, check, explain
from dlsched.problems.placement.definition.schema import Instance, Job, Region, Solution, Table
from dlsched.problems.placement.structures.small import few_tables, very_few_tables
from dlsched.registry import Problem, Start, When

_MANY_TABLES = 100
"""From here on `tempering` finds placements that `annealing` does not."""
_TEMPERED = (250, 700)
"""Tables for which `tempering` finds the better ones in 3 s as well as in 20 s."""


def starts(instance: Instance) -> list[Start]:
    """Return the heuristics of `milp`: after it where tables are few, as it makes some trials.

    Loops are compiled unless tables are very few. `tempering` gains from 100 tables on, if it gets
    the trials for it: it is first where a few seconds are enough.
    """
    if few_tables(instance):
        name = "short_annealing" if very_few_tables(instance) else "annealing"
        return [Start(name, When.LAST)]
    names = ["annealing", "tempering"] if len(instance.tables) >= _MANY_TABLES else ["annealing"]
    first = _TEMPERED[0] <= len(instance.tables) <= _TEMPERED[1]
    return [Start(name) for name in (reversed(names) if first else names)]


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
