"""Replica exchange: annealing at several temperatures at once, which exchange their placements."""

from dataclasses import dataclass

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.placement.definition.schema import Instance
from dlsched.problems.placement.heuristics import claim_of, initial_state, rank_of
from dlsched.problems.placement.heuristics.annealing import (
    Search,
    anneal,
    between,
    schedules,
)
from dlsched.problems.placement.structures.arrays import arrays
from dlsched.registry.own import method
from dlsched.results.result import Claim
from dlsched.run import Run
from dlsched.solvers.arrays import Floats, IntRows, Ints

_LEAST_SECONDS = 1e-6


@dataclass(frozen=True)
class Tunables:
    """What `tempering` is tuned by.

    All were tuned together on the seeds 1 to 3 of 100 and 200 tables (section ``near`` of
    benchmarks/figures/placement.md; other seeds beside them); `few_trials` from equal seconds
    (section ``limited``).
    """

    replicas: int = 16
    """Number of temperatures."""
    trials: int = 20_000
    """For each table by default."""
    most_trials: int = 50_000_000
    """In all by default."""
    first_trials: int = 300
    """For each table, of the annealing that all replicas begin with."""
    few_trials: int = 5_000
    """For each table; up to this number one cooling schedule is 1.5 % cheaper at 100 tables."""
    sweep: int = 500
    """Trials of one replica between two exchanges, at least; half the number of tables if that is
    more, as each replica's sums are computed anew."""
    temperatures: tuple[float, float] = (4.0, 0.05)
    """Of the first and the last replica, in mean increases of the cost by a move."""
    penalties: tuple[float, float] = (0.1, 10.0)
    """Likewise the cost of an infeasibility of 1, in sums of the weights."""
    cooling_part: float = 0.2
    """Of the trials, and of a time limit, for the cooling schedule at the end."""
    cooling: tuple[float, float] = (0.5, 0.01)
    """Its first and last temperature."""
    cooling_penalties: tuple[float, float] = (1.0, 10.0)
    """Its first and last penalty."""


TUNABLES = Tunables()


@method("placement", kind="heuristic")
def tempering(
    instance: Instance, run: Run, trials: int | None = None, replicas: int = TUNABLES.replicas
) -> Claim:
    """Replica exchange: annealing at several temperatures at once, which exchange placements.

    The trials are those of `annealing`. One cooling schedule ends near the homes that the few
    tables which decide had when it became cold; here the cold replicas get others from the hot ones
    all the time. All begin with the placement of `annealing` with few trials. At the end the best
    one goes through a short cooling schedule and hill climbing. A time limit sets the number of
    trials to what fits in the rest of it; where these are few, it continues as `annealing`, which
    then finds more. Ours, not the paper's.

    Even and odd neighbours take turns to exchange (Syed, Bouchard-Cote, Deligiannidis and Doucet,
    Non-reversible parallel tempering, 2022).

    Parameters
    ----------
    trials
        In all; by default 20,000 for each table, up to 50 million, or fewer with a time limit.
    replicas
        Number of temperatures, from 2.
    """
    if (trials is not None and trials < 1) or replicas < 2:
        raise OptionError("trials must be from 1, and replicas from 2")
    data = arrays(instance)
    state = initial_state(instance, data, run)
    short, began = schedules(data, TUNABLES.first_trials), run.elapsed()
    anneal(data, state, run, *short)
    total = trials or min(TUNABLES.trials * len(data.size), TUNABLES.most_trials)
    if trials is None and run.time_limit is not None:
        rate = short.number * short.trials / max(run.elapsed() - began, _LEAST_SECONDS)
        total = min(total, int(rate * run.remaining()))
        if total < TUNABLES.few_trials * len(data.size):
            state = anneal(data, state, run, *schedules(data, TUNABLES.few_trials))
            return claim_of(instance, data, state, run)
    search = Search(data, state, run)
    if not search.immovable:
        cooling = max(1, int(TUNABLES.cooling_part * total))
        search.measure()
        Replicas(search, replicas).run(total - cooling)
        search.end()
        search.cool(TUNABLES.cooling, TUNABLES.cooling_penalties, cooling)
        search.end()
    return claim_of(instance, data, state, run)


class Replicas:
    """Placements at temperatures from hot to cold; all begin at that of a search."""

    def __init__(self, search: Search, number: int) -> None:
        self.search = search
        self.homes: IntRows = np.tile(search.state.home, (number, 1))
        self.ranks = np.tile(rank_of(search.state), (number, 1))
        passed = np.linspace(0.0, 1.0, number)
        self.temperatures = between(search.temperatures(TUNABLES.temperatures), passed)
        self.penalties = between(search.penalties(TUNABLES.penalties), passed)

    def run(self, trials: int) -> None:
        """Make sweeps of trials and exchanges until all are made or the run must stop.

        Of a limit a part is left for the cooling schedule.
        """
        run = self.search.run.nested((1 - TUNABLES.cooling_part) * self.search.run.remaining())
        number = len(self.homes)
        in_sweep = max(TUNABLES.sweep, self.homes.shape[1] // 2)
        in_sweep = min(in_sweep, max(1, trials // number))
        for sweep in range(trials // (in_sweep * number)):
            known = self.search.best
            for i in range(number):
                if run.stop_reason():
                    return
                self.anneal(i, in_sweep)
            if self.search.best != known:
                self.search.record()
            self.exchange(np.arange(sweep % 2, number - 1, 2))

    def anneal(self, i: int, trials: int) -> None:
        """Make some trials with a replica at its temperature."""
        state = self.search.state
        state.home[:] = self.homes[i]
        temperature, penalty = float(self.temperatures[i]), float(self.penalties[i])
        self.search.anneal((temperature, temperature), (penalty, penalty), trials)
        self.homes[i] = state.home
        self.ranks[i] = rank_of(state)

    def exchange(self, pairs: Ints) -> Floats:
        """Exchange some neighbours' placements by Metropolis' rule; return their chances.

        Parameters
        ----------
        pairs
            The hotter ones, no two of which are neighbours.
        """
        worse, cost = self.ranks.T
        with np.errstate(over="ignore", invalid="ignore"):  # where units are extreme
            inverse, penalty = 1 / self.temperatures, self.penalties / self.temperatures
            rise = np.nan_to_num(
                (cost[pairs + 1] - cost[pairs]) * (inverse[pairs] - inverse[pairs + 1])
                + (worse[pairs + 1] - worse[pairs]) * (penalty[pairs] - penalty[pairs + 1])
            )
        chance: Floats = np.exp(-rise.clip(0.0))
        for i in pairs[self.search.run.rng.random(len(pairs)) < chance].tolist():
            self.homes[[i, i + 1]] = self.homes[[i + 1, i]]
            self.ranks[[i, i + 1]] = self.ranks[[i + 1, i]]
        return chance
