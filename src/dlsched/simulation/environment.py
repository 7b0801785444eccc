"""A simulation step by step: the caller decides, one decision after another."""

from fractions import Fraction
from typing import Any

from dlsched.errors import OptionError
from dlsched.schema import Number, simplify
from dlsched.simulation.api import header
from dlsched.simulation.engine.decision import Decision, PolicyError
from dlsched.simulation.engine.engine import Engine
from dlsched.simulation.engine.guard import STUCK_AFTER, require_possible
from dlsched.simulation.engine.state import State
from dlsched.simulation.log import Log
from dlsched.simulation.run import Simulation
from dlsched.simulation.workload.clock import TICKS
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload


class Environment:
    """A workload on a cluster; the caller decides at every arrival and completion.

    Parameters
    ----------
    audit
        Whether a simulation is audited when it ends.
    seed
        Of `State.rng`.
    stuck_after
        As in `simulate`.

    Attributes
    ----------
    where
        Which jobs may run on which servers, by classes.
    state
        The state that waits for a decision, as the last `reset` or `step` returned it.
    """

    name = "environment"

    def __init__(
        self,
        workload: Workload,
        cluster: Cluster,
        *,
        audit: bool = True,
        seed: int = 0,
        stuck_after: int = STUCK_AFTER,
    ) -> None:
        self.workload = workload
        self.cluster = cluster
        self._audited = audit
        self._settings = (seed, stuck_after)
        self.where = require_possible(workload, cluster, self)
        self._meta = header(self.name, None, {}, self, seed, workload, cluster)
        self._engine: _Asking | None = None
        self._decision = Decision()
        self.state: State | None = None

    def decide(self, _state: State) -> Decision:
        """Return the decision of the present step; the simulator calls it."""
        return self._decision

    def reset(self) -> State:
        """Begin anew, and return the state at the first submission."""
        log = Log()
        log.begin(self._meta)
        self._engine = _Asking(self.workload, self.cluster, self, log, self.where, *self._settings)
        self._engine.go_on()
        self.state = self._engine.shown_state
        return self.state

    def step(self, decision: Decision) -> tuple[State, Number, bool]:
        """Do what is decided, and go on until there is something to decide again.

        Returns
        -------
        state, waiting, done
            The next state; the integral over time, since the state before, of the number of jobs
            that are there, in seconds; whether none is left. Where no job is withdrawn, the
            integrals add up to the mean completion time times the number of jobs.

        Raises
        ------
        PolicyError
            If the decision is impossible, or jobs would wait for ever. The simulation then ends.
        OptionError
            If the simulation has not begun, or has ended.
        """
        engine = self._engine
        if engine is None or engine.asked is None:
            raise OptionError("there is nothing to decide; call reset() first")
        self._decision = decision
        waiting = Fraction(engine.follow(), TICKS)
        self.state = engine.shown_state
        done = engine.asked is None
        if done:
            engine.close()
            report = self.simulation.audit() if self._audited else True
            if not report:
                raise PolicyError(f"the audit of this simulation has found: {report}")
        return self.state, simplify(waiting), done

    @property
    def simulation(self) -> Simulation:
        """The simulation that has ended, with its summary, jobs, audit and bounds.

        Raises
        ------
        OptionError
            If it has not.
        """
        if self._engine is None or not self._engine.over:
            raise OptionError("the simulation has not ended; go on with step()")
        return Simulation(self._engine.log)


class _Asking(Engine):
    """A simulation that stops where it would ask its policy.

    Attributes
    ----------
    asked
        The causes of the decision that is to be made; None if there is none.
    shown_state
        The state that the caller decides by.
    """

    asked: tuple[str, ...] | None = None
    shown_state: State

    def _decide(self, causes: tuple[str, ...]) -> None:
        if self.holdings.active:
            self.asked = causes
        else:
            super()._decide(causes)

    def _state(self, causes: tuple[str, ...]) -> State:
        return super()._state(causes) if self.asked is None else self.shown_state

    def go_on(self) -> int:
        """Go on until a decision is asked for; return the time in the system of all jobs."""
        total = 0
        while self.asked is None and not self.over:
            present, since = len(self.holdings.active), self.now
            self._step()
            total += present * (self.now - since)
        causes, self.asked = self.asked or ("completion",), None
        self.shown_state = self._state(causes)
        self.asked = None if self.over else causes
        return total

    def follow(self) -> int:
        """Do what the policy says, and go on."""
        causes: Any = self.asked
        try:
            super()._decide(causes)
        finally:
            self.asked = None
        return self.go_on()
