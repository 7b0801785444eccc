"""Elastic: how many workers each job gets in one scheduling epoch (Lyra)."""

from dlsched.problems.elastic.definition.check import LEVELS, check, explain
from dlsched.problems.elastic.definition.schema import Instance, Solution
from dlsched.registry import Problem, Start, When

PROBLEM = Problem(
    name="elastic",
    title="How many workers each job gets in one scheduling epoch",
    source="Lyra (EuroSys'23), section 5.2",
    levels=LEVELS,
    instance=Instance,
    solution=Solution,
    definition=check,
    explain=explain,
    exact="dp",
    bound="lp",
    size="jobs",
    package=__name__,
    paper_method="lyra",
    starts=(Start("lyra", When.LAST),),
)

__all__ = ["PROBLEM", "Instance", "Solution"]
