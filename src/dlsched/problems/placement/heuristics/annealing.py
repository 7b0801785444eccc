"""Simulated annealing: trials in a state, and cooling schedules, one after the other."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.placement.definition.schema import Instance
from dlsched.problems.placement.heuristics import (
    claim_of,
    hill_climb,
    initial_state,
    move_to,
    rank_of,
)
from dlsched.problems.placement.kernels import local_search
from dlsched.problems.placement.structures.arrays import Data, arrays
from dlsched.problems.placement.structures.state import State
from dlsched.registry.own import method
from dlsched.results.result import Claim
from dlsched.run import Run
from dlsched.solvers.arrays import Floats, Ints


@dataclass(frozen=True)
class Tunables:
    """What cooling schedules are tuned by.

    Trials and `many_tables` come from the sections ``own`` and ``near`` of
    benchmarks/figures/placement.md; the other values were chosen by hand, not measured.
    """

    trials: int = 2_000
    """For each table by default."""
    least_by_default: int = 200_000
    """In all by default, however few tables."""
    least_trials: int = 2_000
    """In all, however few are asked for."""
    trials_per_schedule: int = 25_000
    """Where tables are few: with 200,000 trials eight schedules end nearer to optima than two."""
    temperatures: tuple[float, float] = (2.0, 0.01)
    """The first and the last one, in mean increases of the cost by a move."""
    least_temperature: float = 1e-300
    """Where no move costs anything."""
    soft: tuple[float, float] = (0.1, 10.0)
    """First and last cost of an infeasibility of 1, in sums of the weights, so that large tables
    may change places; where there are few tables, most such placements lead nowhere."""
    hard: tuple[float, float] = (1e6, 1e6)
    """The same, so that limits are hardly ever broken."""
    many_tables: int = 100
    """From here on there is one schedule, with soft limits; else some, hard and soft in turn."""
    trials_per_call: int = 20_000
    """Between two checks of the limits."""
    sampled_moves: int = 500
    """From which the temperatures follow."""


TUNABLES = Tunables()


@method("placement", kind="heuristic")
def annealing(instance: Instance, run: Run, trials: int | None = None) -> Claim:
    """Simulated annealing with moves of tables, of a job's tables, and of clusters, and swaps.

    A cluster is a table with smaller ones that are read together with it. It starts from the result
    of hill climbing, ends each cooling schedule with it, and returns the best placement: one
    schedule from 100 tables on, else some, each but the first from the best so far. In every other
    one limits may be broken on the way, at a price that rises. A schedule that a time limit would
    end while it is hot leaves out trials, and so ends cold. Ours, not the paper's.

    Parameters
    ----------
    trials
        For each table, and 2,000 at least in all; by default 2,000, and 200,000 at least in all.
    """
    if trials is not None and trials < 1:
        raise OptionError(f"trials={trials} must be from 1")
    data = arrays(instance)
    state = anneal(data, initial_state(instance, data, run), run, *schedules(data, trials))
    return claim_of(instance, data, state, run)


class Schedules(NamedTuple):
    """Cooling schedules of annealing: their number, and the trials in each."""

    number: int
    trials: int


def schedules(data: Data, trials: int | None = None) -> Schedules:
    """Return those of `annealing` with some trials for each table, or by default."""
    tables = len(data.size)
    least = TUNABLES.least_by_default if trials is None else TUNABLES.least_trials
    total = max((trials or TUNABLES.trials) * tables, least)
    number = 1 if tables >= TUNABLES.many_tables else max(2, total // TUNABLES.trials_per_schedule)
    return Schedules(number, total // number)


def anneal(data: Data, state: State, run: Run, number: int, trials: int) -> State:
    """Improve a state in place by hill climbing and cooling schedules; return the best."""
    search = Search(data, state, run)
    if search.immovable:
        return state
    for schedule in range(number):
        soft = (schedule % 2 == 0) == (len(data.size) >= TUNABLES.many_tables)
        search.measure()
        search.cool(TUNABLES.temperatures, TUNABLES.soft if soft else TUNABLES.hard, trials)
        if run.stop_reason():
            break
    search.end()
    return state


def between(ends: tuple[float, float], passed: Floats) -> Floats:
    """Return numbers between two, at equal ratios, after these parts of the way."""
    first, last = ends
    numbers: Floats = first * (last / first) ** passed
    return numbers


class Search:
    """Trials in a state, which first climbs, and the best placement so far.

    Parameters
    ----------
    state
        It is changed in place.

    Attributes
    ----------
    best
        Infeasibility and cost of the best placement.
    homes
        Its homes, by table.
    """

    def __init__(self, data: Data, state: State, run: Run) -> None:
        self.data, self.state, self.run = data, state, run
        hill_climb(data, state, run, None)
        self.best, self.homes = rank_of(state), state.home.copy()
        self._increase = 1.0

    @property
    def immovable(self) -> bool:
        """Whether there is nothing to move, or nowhere."""
        return not len(self.data.size) or len(self.data.capacity) < 2

    def measure(self) -> None:
        """Take the mean increase of the cost by a move from the present state."""
        tables = self.run.rng.integers(len(self.data.size), size=TUNABLES.sampled_moves)
        into = self.run.rng.integers(len(self.data.capacity), size=TUNABLES.sampled_moves)
        cost, worse = np.zeros((2, TUNABLES.sampled_moves))
        local_search.move_each(*self.state.packed, tables, into, False, cost, worse)
        increases = cost[cost > 0]
        # If no move costs anything, any temperature will do.
        self._increase = float(increases.mean()) if len(increases) else 1.0

    def temperatures(self, ends: tuple[float, float]) -> tuple[float, float]:
        """Return the first and the last temperature, given in mean increases of the cost."""
        first, last = np.maximum(
            np.array(ends) * self._increase, TUNABLES.least_temperature
        ).tolist()
        return first, last

    def penalties(self, ends: tuple[float, float]) -> tuple[float, float]:
        """Return costs of an infeasibility of 1, given in sums of the weights."""
        weights = self.data.traffic_weight + self.data.gpu_weight + self.data.storage_weight
        return (weights or 1.0) * ends[0], (weights or 1.0) * ends[1]

    def anneal(
        self, temperatures: tuple[float, float], penalties: tuple[float, float], trials: int
    ) -> None:
        """Make trials, at equal ratios from the first to the last temperature and penalty.

        Some are left out where a limit strikes before the end.
        """
        first, began, left = 0, self.run.elapsed(), self.run.remaining()
        while first < trials and not self.run.stop_reason():
            part = np.arange(first, min(first + TUNABLES.trials_per_call, trials))
            passed = part / max(trials - 1, 1)
            draws = self.run.rng.random((len(part), local_search.DRAWS))
            cost, worse = local_search.anneal(
                *self.state.packed, between(temperatures, passed), between(penalties, passed), draws
            )
            self._keep((worse, cost), self.state.best)
            spent = (self.run.elapsed() - began) / left
            first = max(first + TUNABLES.trials_per_call, int(spent * trials))

    def cool(
        self, temperatures: tuple[float, float], penalties: tuple[float, float], trials: int
    ) -> None:
        """Make trials from the first temperature and penalty to the last; climb from the best."""
        self.anneal(self.temperatures(temperatures), self.penalties(penalties), trials)
        move_to(self.state, self.homes)
        hill_climb(self.data, self.state, self.run, None)
        self._keep(rank_of(self.state), self.state.home)
        self.record()

    def _keep(self, rank: tuple[float, float], homes: Ints) -> None:
        """Keep a placement if it is better by more than rounding."""
        (worse, cost), (least, best) = rank, self.best
        if worse < least or (worse == least and cost < best * (1 - local_search.RELATIVE)):
            self.best, self.homes = rank, homes.copy()

    def record(self) -> None:
        """Report progress."""
        worse, cost = self.best
        self.run.record(None if worse else cost, None)

    def end(self) -> None:
        """Leave the state at the best placement."""
        move_to(self.state, self.homes)
