"""A simulation step by step: the caller decides, one decision after another."""

from dlsched.errors import OptionError
from dlsched.schema import Number
from dlsched.simulation.api import header
from dlsched.simulation.engine.decision import Decision, PolicyError
from dlsched.simulation.engine.engine import Engine
from dlsched.simulation.engine.guard import STUCK_AFTER, require_possible
from dlsched.simulation.engine.state import State
from dlsched.simulation.log import Log
from dlsched.simulation.run import Simulation
from dlsched.simulation.workload.clock import seconds
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
        self._engine: Engine | None = None
        self._causes: tuple[str, ...] | None = None
        self._decision = Decision()
        self.state: State | None = None

    def decide(self, _state: State) -> Decision:
        """Return the decision of the present step; the simulator calls it."""
        return self._decision

    def reset(self) -> State:
        """Begin anew, and return the state at the first submission."""
        log = Log()
        log.begin(self._meta)
        engine = Engine(self.workload, self.cluster, self, log, self.where, *self._settings)
        self._engine = engine
        return self._go_on(engine)[0]

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
        engine, causes = self._engine, self._causes
        if engine is None or causes is None:
            raise OptionError("there is nothing to decide; call reset() first")
        self._decision, self._causes = decision, None
        engine.decide(causes)
        state, waiting = self._go_on(engine)
        done = self._causes is None
        if done:
            engine.close()
            report = self.simulation.audit() if self._audited else True
            if not report:
                raise PolicyError(f"the audit of this simulation has found: {report}")
        return state, waiting, done

    def _go_on(self, engine: Engine) -> tuple[State, Number]:
        """Go on until there is something to decide; return the state, and what `step` counts."""
        total, causes = 0, None
        while causes is None and not engine.over:
            present, since = len(engine.holdings.active), engine.now
            causes = engine.advance()
            total += present * (engine.now - since)
        self._causes = causes
        self.state = engine.state(causes or ("completion",))
        return self.state, seconds(total)

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
