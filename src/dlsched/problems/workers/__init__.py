"""Workers: which server each worker of each job gets (Lyra)."""

from dlsched.problems.workers.definition.check import LEVELS, check, explain
from dlsched.problems.workers.definition.schema import Instance, Solution
from dlsched.problems.workers.instances.to_reclaiming import to_reclaiming
from dlsched.problems.workers.programs.arc_program import choose
from dlsched.registry import Problem, Start

__all__ = ["PROBLEM", "Instance", "Solution", "to_reclaiming"]


PROBLEM = Problem(
    name="workers",
    title="Which server each worker of each job gets, in separate groups on loan servers",
    source="Lyra (EuroSys'23), section 5.3",
    levels=LEVELS,
    instance=Instance,
    solution=Solution,
    definition=check,
    explain=explain,
    exact="arc_flow",
    bound="lp",
    size="servers",
    package=__name__,
    paper_method="bfd",
    starts=(Start("confined_first"),),
    choose=choose,
)
