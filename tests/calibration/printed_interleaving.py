"""What Muri prints of its models; the numbers of GPUs in its authors' traces."""

from functools import cache, partial
from typing import Any

from marginal import Marginal, percent, within

import dlsched

TABLE_1 = {
    "ShuffleNet": (60, 18, 6, 2),
    "VGG19": (24, 4, 26, 41),
    "GPT-2": (0.06, 0.03, 85, 28),
    "A2C": (0, 91, 3, 0.2),
}
"""Percent of an iteration on storage, CPU, GPU and network."""
TABLE_2 = {"ShuffleNet": (128, 2041), "GPT-2": (4, 134), "A2C": (64, 1811)}
"""Samples per GPU and batch (Table 3), and samples a second alone on 16 GPUs."""
RESOURCES = ("storage", "CPU", "GPU", "network")


@cache
def drawn(seed: int, grouping: str = "uniform") -> Any:
    """Draw many jobs."""
    return dlsched.generate("interleaving", seed, preset="paper", jobs=2000, grouping=grouping)


def profiles(instance: Any) -> set[tuple[float, ...]]:
    """Return the different stages of the jobs, in milliseconds."""
    return {tuple(map(float, job.stages)) for job in instance.jobs}


def longest(stages: tuple[float, ...]) -> int:
    """Return the place of the longest stage."""
    return stages.index(max(stages))


def model(name: str, instance: Any) -> tuple[float, ...]:
    """Return the stages of a model: of those with its bottleneck, the most similar ones."""
    printed = TABLE_1[name]
    place = longest(printed)

    def difference(stages: tuple[float, ...]) -> float:
        pairs = zip(stages, printed, strict=True)
        return sum(abs(time / stages[place] - share / printed[place]) for time, share in pairs)

    return min((s for s in profiles(instance) if longest(s) == place), key=difference)


def ratio(name: str, place: int, instance: Any) -> float:
    """A stage in per cent of the model's longest one."""
    stages = model(name, instance)
    return 100 * stages[place] / max(stages)


def milliseconds(name: str, instance: Any) -> float:
    """The model's longest stage."""
    return max(model(name, instance))


def stages(name: str) -> list[Marginal]:
    """Return the marginals of a model in Table 1: its stages by its longest one."""
    printed = TABLE_1[name]
    place = longest(printed)
    return [
        within(f"preset=paper: {name}, {RESOURCES[r]} stage of the {RESOURCES[place]} stage, %",
               100 * share / printed[place], 0.2, "Table 1", drawn, partial(ratio, name, r))
        for r, share in enumerate(printed) if r != place
    ]  # fmt: skip


MARGINALS = [
    within("preset=paper: different models", 8, 0, "Table 3", drawn,
           lambda made: len(profiles(made))),
    *(
        within(f"preset=paper: jobs whose bottleneck is {name}, %", 25, 2, "Table 3, section 6.1",
               drawn, percent(lambda job, r=r: longest(job.stages) == r))
        for r, name in enumerate(RESOURCES)
    ),
    *(marginal for name in TABLE_1 for marginal in stages(name)),
    *(
        within(f"preset=paper: {name}, longest stage, ms",
               max(TABLE_1[name]) / 100 * 16_000 * batch / alone, 1, "Tables 1 to 3", drawn,
               partial(milliseconds, name))
        for name, (batch, alone) in TABLE_2.items()
    ),
    *(
        within(f"preset=paper, cover: jobs with {gpus} GPUs, %", share, 2, "the authors' trace 1",
               partial(drawn, grouping="cover"), percent(lambda job, gpus=gpus: job.gpus == gpus))
        for gpus, share in ((1, 36), (4, 28), (8, 31))
    ),
]  # fmt: skip
