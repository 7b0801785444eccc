"""Who gains and who loses: jobs by user, account, partition and size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dlsched.studies.outcome import Outcome, earlier, later

if TYPE_CHECKING:
    import pandas as pd

GROUPS = ("user", "account", "partition", "size")
UNKNOWN = "(unknown)"
"""The group of jobs of which the record does not say it."""
ADDED = ("jobs", "wait_hours", "saved_hours", "idle_gpu_hours", "earlier", "later")
"""Columns whose sums over the groups are those of the table."""


def group_rows(what: str, recorded: Outcome, outcomes: Sequence[Outcome]) -> pd.DataFrame:
    """Return a row for each group and outcome; see `dlsched.studies.comparison.Study.by`."""
    import pandas as pd

    group = groups_of(what, recorded.jobs)
    frames = []
    for outcome in (recorded, *outcomes):
        rows = pd.DataFrame(
            {
                what: group,
                "wait": outcome.jobs["wait"].to_numpy(),
                "recorded": recorded.jobs["wait"].to_numpy(),
                "idle": outcome.jobs["idle"].to_numpy(),
                "earlier": earlier(outcome, recorded).astype(int),
                "later": later(outcome, recorded).astype(int),
            }
        )
        sums = rows.groupby(what, sort=False).sum()
        sums["jobs"] = rows.groupby(what, sort=False).size()
        sums["policy"] = outcome.name
        frames.append(sums.reset_index())
    joined = pd.concat(frames, ignore_index=True)
    joined["mean_wait"] = joined["wait"] / joined["jobs"]
    joined["wait_hours"] = joined["wait"] / 3600
    joined["saved_hours"] = (joined["recorded"] - joined["wait"]) / 3600
    joined["idle_gpu_hours"] = joined["idle"] / 3600
    order = frames[0].sort_values("wait", ascending=False, kind="stable")[what].tolist()
    place = {name: i for i, name in enumerate(order)}
    joined["place"] = joined[what].map(place)
    joined = joined.sort_values("place", kind="stable").reset_index(drop=True)
    columns = [what, "policy", "jobs", "mean_wait", *ADDED[1:]]
    return joined[columns]


def groups_of(what: str, jobs: pd.DataFrame) -> list[str]:
    """Return the group of each job."""
    if what != "size":
        return [name if isinstance(name, str) and name else UNKNOWN for name in jobs[what]]
    return [size_class(gpus) for gpus in jobs["gpus"].tolist()]


def size_class(gpus: int) -> str:
    """Return the class of a size: 1, 2, 3-4, 5-8, and so on."""
    if gpus <= 2:
        return str(gpus)
    last = 2 ** int(np.ceil(np.log2(gpus)))
    return f"{last // 2 + 1}-{last}"
