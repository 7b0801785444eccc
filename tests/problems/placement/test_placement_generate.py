"""What the generator of placement draws."""

from __future__ import annotations

import numpy as np
import pytest

import dlsched
from dlsched.problems.placement.generate import PRIORITIES


def test_statistics_are_the_papers() -> None:
    """Sizes, readers of a table, and priorities are distributed as printed."""
    inst = dlsched.generate(
        "placement", 1, tables=6000, regions=5, jobs=9000, largest=1, clusters=0
    )
    size = np.array([table.size for table in inst.tables])
    assert np.quantile(size, [0.5, 0.9, 0.99]) == pytest.approx([565, 103_000, 7.5e6], rel=0.35)
    readers = {table.id: 0 for table in inst.tables}
    for job in inst.jobs:
        for name in job.tables:
            readers[name] += 1
    counts = np.quantile(list(readers.values()), [0.5, 0.9, 0.99])
    assert counts == pytest.approx([3, 17, 45], rel=0.15)
    shares = np.bincount([job.priority for job in inst.jobs], minlength=8)[1:] / len(inst.jobs)
    assert shares == pytest.approx(np.array(PRIORITIES) / sum(PRIORITIES), abs=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_today_is_feasible(seed: int) -> None:
    """The homes of today keep storage and CPU, hardware is uneven, and no table is all there is."""
    inst = dlsched.generate("placement", seed, tables=80, regions=5, jobs=120)
    result = dlsched.solve(inst, "stay")
    assert result.status == "feasible"
    assert result.details["moved"] == 0
    size = [table.size for table in inst.tables]
    assert max(size) <= 0.1 * sum(size) + 1
    supplies = [sum(region.gpu_supply.values()) for region in inst.regions]
    assert max(supplies) > 1.5 * min(supplies)


def test_same_seed_same_instance() -> None:
    """A seed gives one instance; another one another."""
    made = [dlsched.generate("placement", seed, tables=20).sha256 for seed in (1, 1, 2)]
    assert made[0] == made[1] != made[2]


@pytest.mark.parametrize(
    "options",
    [{"version": "v3"}, {"tables": 0}, {"kinds": 4}, {"load": 0}, {"fill": 1}, {"largest": 0}],
)
def test_nonsense_is_refused(options: dict[str, object]) -> None:
    """What cannot be drawn is refused by name."""
    with pytest.raises(dlsched.OptionError):
        dlsched.generate("placement", 1, **options)
