"""A simulation step by step: the same as at once, and what gymnasium asks of an environment."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulation_cases import ONE, RandomPolicy, by_hand, on, random_case, tables

from dlsched import OptionError
from dlsched.simulation import Decision, Environment, PolicyError, make_policy, simulate

gymnasium = pytest.importorskip("gymnasium")
from dlsched.simulation.scheduling_env import ID, ORDERS  # noqa: E402


@pytest.mark.parametrize("policy", ["srtf", "fifo", "tiresias", "random"])
@pytest.mark.parametrize("seed", range(3))
def test_step_by_step_as_at_once(seed: int, policy: str) -> None:
    """A policy that is asked outside decides the same; the integrals are all completion times."""
    jobs, cluster = random_case(seed)
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
        assert total == pytest.approx(float(run.jobs["jct"].sum()), rel=1e-12)


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

    jobs, cluster = random_case(seed)
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
        ended = env.unwrapped.environment.simulation
        assert total == pytest.approx(ended.jobs["jct"].sum())


def test_a_policy_is_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example, for a moment: no policy is better than the bound."""
    pytest.importorskip("cmaes")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples"))
    import train_policy

    monkeypatch.setattr(train_policy, "TRAINED_ON", 1)
    means = train_policy.main(0, 1)
    assert min(means, key=means.__getitem__) == "bound" and len(means) == 5
    sys.modules.pop("train_policy")
