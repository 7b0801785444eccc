"""Random interleaving instances: sizes, statistics, seeds, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import dlsched
from dlsched.problems.interleaving.profiles import BOTTLENECKS, MODELS


def test_the_same_seed_makes_the_same_instance() -> None:
    """A seed decides everything, another seed something else."""
    first, same, other = (dlsched.generate("interleaving", s, jobs=32) for s in (1, 1, 2))
    assert first.sha256 == same.sha256 != other.sha256


def test_alike_jobs_have_few_profiles() -> None:
    """5,755 jobs of eight models and six numbers of GPUs have at most 48 profiles."""
    made = dlsched.generate(
        "interleaving", 1, jobs=5755, grouping="cover", distinct=False, budget=0.25
    )
    assert len(made.jobs) == 5755
    assert len(made.profiles) == 48
    assert made.least_gpus < made.gpu_budget < sum(job.gpus for job in made.jobs)


def test_uniform_classes_divide() -> None:
    """Uniform instances drop jobs until every class divides by k."""
    made = dlsched.generate("interleaving", 1, jobs=50, resources=3, gpus={1: 0.5, 2: 0.5})
    assert 44 <= len(made.jobs) <= 50
    assert all(len(jobs) % 3 == 0 for jobs in made.classes.values())


@pytest.mark.parametrize("kinds", [1, 2, 3, 4])
def test_bottlenecks_are_those_asked_for(kinds: int) -> None:
    """Without noise the longest stages are those of the first kinds of Figure 13."""
    made = dlsched.generate("interleaving", 1, jobs=200, bottlenecks=kinds, noise=0.0)
    longest = {made.resources[int(np.argmax(job.stages))] for job in made.jobs}
    assert longest == set(BOTTLENECKS[:kinds])


def test_shares_add_up() -> None:
    """Every model's shares add up to its iteration, and its bottleneck is the largest."""
    for name, model in MODELS.items():
        assert sum(model.shares) == pytest.approx(1), name
        order = ("storage", "cpu", "gpu", "network")
        assert order[int(np.argmax(model.shares))] == model.bottleneck, name


@pytest.mark.parametrize(
    "options",
    [
        {"grouping": "any"},
        {"resources": 5},
        {"bottlenecks": 0},
        {"noise": 1.5},
        {"budget": 0.5},
        {"grouping": "cover", "budget": 2.0},
    ],
)
def test_options_out_of_range_are_refused(options: dict) -> None:
    """An option that makes no sense is named."""
    with pytest.raises(dlsched.OptionError, match=list(options)[-1]):
        dlsched.generate("interleaving", 1, **options)
