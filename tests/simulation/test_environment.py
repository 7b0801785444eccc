"""A simulation step by step: the same as at once, and what gymnasium asks of an environment."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from simulation_cases import ONE, RandomPolicy, by_hand, on, random_case, tables

from dlsched import OptionError
from dlsched.simulation import (
    Cluster,
    Decision,
    Environment,
    PolicyError,
    Simulation,
    Workload,
    make_policy,
    simulate,
)

gymnasium = pytest.importorskip("gymnasium")
from dlsched.simulation.scheduling_env import ID, ORDERS  # noqa: E402


def case(seed: int) -> tuple[Workload, Cluster]:
    """Return a random case; with odd seeds a server is away twice, and a job may be withdrawn."""
    jobs, cluster = random_case(seed)
    if seed % 2:
        away = [{"server": "s0", "start": t, "end": t + 40} for t in (20, 150)]
        rows = [job.model_dump() for job in jobs.jobs]
        rows[-1]["cancelled"] = rows[-1]["submit"] + 5
        jobs = Workload.parse(jobs.model_dump() | {"jobs": rows}, "the test")
        cluster = Cluster.parse(cluster.model_dump() | {"away": away}, "the test")
    return jobs, cluster


def time_there(run: Simulation) -> float:
    """Return how long all jobs are there: until they are complete, or are withdrawn."""
    left = [float(job.cancelled or 0) for job in run.workload.jobs]
    ends = run.jobs["end"].fillna(pd.Series(left))
    return float((ends - run.jobs["submit"]).sum())


@pytest.mark.parametrize("policy", ["srtf", "fifo", "tiresias", "random"])
@pytest.mark.parametrize("seed", range(3))
def test_step_by_step_as_at_once(seed: int, policy: str) -> None:
    """A policy that is asked outside decides the same; the integrals are all completion times."""
    jobs, cluster = case(seed)
    asked = RandomPolicy() if policy == "random" else make_policy(policy)
    env = Environment(jobs, cluster, seed=seed)
    for _ in range(2):
        state, total, done = env.reset(), 0, False
        while not done:
            state, waiting, done = env.step(asked.decide(state))
            total += waiting
        made: Any = RandomPolicy() if policy == "random" else policy
        run = simulate(jobs, cluster, made, seed=seed)
        assert tables(env.simulation) == tables(run)
        assert total == pytest.approx(time_there(run), rel=1e-12)


def test_what_cannot_be_decided() -> None:
    """Before the beginning, after the end, twice the GPUs, and nothing for ever."""
    env = Environment(by_hand({}, {}), ONE)
    for call in (lambda: env.step(Decision()), lambda: env.simulation):
        with pytest.raises(OptionError):
            call()
    for start in ({"a": on(("s1", 2))}, {}):
        env.reset()
        with pytest.raises(PolicyError, match="policy environment at 0 s"):
            env.step(Decision(start))
        with pytest.raises(OptionError, match="reset"):
            env.step(Decision())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(4))
def test_an_environment_of_gymnasium(seed: int, order: str) -> None:
    """It passes gymnasium's checker; whatever the actions, rewards add up to completion times."""
    from gymnasium.utils.env_checker import check_env

    jobs, cluster = case(seed)
    env = gymnasium.make(ID, workload=jobs, cluster=cluster, visible=5, order=order)
    check_env(env.unwrapped)
    rng = np.random.default_rng(seed)
    for masked in (True, False):
        observation, info = env.reset()
        total, done = 0.0, False
        while not done:
            there = np.flatnonzero(info["action_mask"])
            action = rng.choice(there) if masked else rng.integers(6)
            observation, reward, done, cut, info = env.step(action)
            assert env.observation_space.contains(observation) and not cut
            total -= reward
        assert total == pytest.approx(time_there(env.unwrapped.environment.simulation))


def test_a_policy_is_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example, for a moment: no policy is better than the bound."""
    pytest.importorskip("cmaes")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples"))
    import train_policy

    monkeypatch.setattr(train_policy, "TRAINED_ON", 1)
    means = train_policy.main(0, 1)
    assert min(means, key=means.__getitem__) == "bound" and len(means) == 5
    sys.modules.pop("train_policy")
