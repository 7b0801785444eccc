"""Lyra's own numbers: Figure 5 and Table 1."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dlsched
from dlsched.problems.reclaiming.instances.generate import examples
from dlsched.problems.reclaiming.structures.job_shares import count_shares, gpu_shares, lyra_shares

HALF, FIFTH = Fraction(1, 2), Fraction(1, 5)


def test_table_1() -> None:
    """The three definitions of a server's cost give the paper's three columns."""
    (fig5,) = examples()
    n = len(fig5.servers)
    assert count_shares(fig5).costs(n) == [1, 1, 1, 1, 2, 1]
    assert gpu_shares(fig5).costs(n) == [HALF, HALF, 1, 4 * FIFTH, 2 * FIFTH, 4 * FIFTH]
    assert lyra_shares(fig5).costs(n) == [HALF, HALF, 1, HALF, 1, HALF]


@pytest.mark.parametrize("method", ["exact", "lyra"])
def test_two_servers_cost_one_job(method: str) -> None:
    """For N = 2 section 4 has servers 1 and 2, which preempts job a only; `lyra` finds them."""
    result = dlsched.solve("lyra-fig5", method)
    assert set(result.solution.returned) == {"1", "2"}
    assert tuple(result.objective) == (1, 0)


def test_gpu_fraction_takes_server_5_and_preempts_two() -> None:
    """The definition that the paper rejects takes the server with the least share of GPUs."""
    result = dlsched.solve("lyra-fig5", "gpu_fraction")
    assert result.solution.returned[0] == "5"
    assert result.objective.preempted == 2
