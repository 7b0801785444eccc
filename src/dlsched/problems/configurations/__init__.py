"""Configurations: the GPUs, and their type, that each job has in a round (Sia)."""

from collections.abc import Iterator

from dlsched.problems.configurations.definition.check import LEVELS, check, place
from dlsched.problems.configurations.definition.schema import Instance, Solution
from dlsched.registry import Problem, Start, When


def cells(
    instance: Instance, solution: Solution | None
) -> Iterator[tuple[str, int, list[tuple[str, int]]]]:
    """Yield each node with its GPUs, and the jobs on it with theirs."""
    chosen = solution.configurations if solution else {}
    given = {job: instance.by_id[c] for job, c in chosen.items()}
    for kind in instance.types:
        for number, jobs in enumerate(place(kind, given)[0], start=1):
            yield f"{kind.id} {number}", kind.gpus_per_node, jobs


PROBLEM = Problem(
    name="configurations",
    title="How many GPUs, and of which type, each job has in a round",
    source="Sia (SOSP'23)",
    levels=LEVELS,
    instance=Instance,
    solution=Solution,
    definition=check,
    exact="sia",
    bound="lp",
    size="jobs",
    package=__name__,
    cells=cells,
    paper_method="sia_public",
    starts=(Start("greedy", When.LAST),),
)
