"""``dlsched/Scheduling-v0``: a simulation as an environment of gymnasium, registered by an import.

``gymnasium.make("dlsched/Scheduling-v0", workload=..., cluster=...)``, or a `SchedulingEnv`.
"""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError
from dlsched.extras import require
from dlsched.simulation.engine.decision import Allocation, Decision
from dlsched.simulation.engine.jobs import Key
from dlsched.simulation.engine.state import State
from dlsched.simulation.environment import Environment
from dlsched.simulation.policies.ordering import Fifo
from dlsched.simulation.policies.placement import Placement
from dlsched.simulation.workload.clock import TICKS
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload

if TYPE_CHECKING:
    import gymnasium
else:
    gymnasium = require("gymnasium", "the environment dlsched/Scheduling-v0")

ID: Final = "dlsched/Scheduling-v0"
ORDERS: Final[dict[str, Key]] = {
    "submission": lambda jobs: jobs.submit,
    "remaining": lambda jobs: jobs.remaining,
    "service": lambda jobs: jobs.remaining * jobs.gpus,
}
"""What jobs are ordered by, least first: when they were submitted, the time that they still need,
that time times their GPUs."""
FEATURES: Final = ("waits", "runs", "fits", "gpus", "remaining", "age", "attained")
LONGEST: Final = 40.0
"""Times are shown as log(1 + seconds) over this."""

Floats = NDArray[np.float32]


class SchedulingEnv(gymnasium.Env[Floats, np.int64]):
    """Jobs are started and preempted one after another; then time passes to the next event.

    The observation has `FEATURES` of each of the first `visible` jobs that wait or run, all from 0
    to 1 and 0 where there is no job: whether it waits, runs, and could be started now; its share of
    the cluster's GPUs; and the time that it still needs, since its submission, and with GPUs. Then
    comes the share of GPUs that is free in each class of servers, and log(1 + jobs) over 20.

    An action is the position of a job: one that waits starts if it fits, placed as the policies of
    the library place it; one that runs is preempted; each job once at a time. Any other action lets
    time pass, as does the last one, "wait". Where time would never pass, as nothing runs and nobody
    is to come, the first job that fits starts, or if none does the job that was preempted last runs
    on **(D)**. ``info["action_mask"]`` has what does something. Servers on loan are left alone.

    The reward is minus the integral over the time that passes of the number of jobs that are there,
    in seconds: in sum minus the mean completion time times the jobs.

    Parameters
    ----------
    visible
        Jobs that are observed.
    order
        Of the jobs, one of `ORDERS`.
    audit
        Whether each simulation is audited at its end.
    """

    def __init__(
        self,
        workload: Workload,
        cluster: Cluster,
        visible: int = 32,
        order: str = "remaining",
        audit: bool = True,
    ) -> None:
        if order not in ORDERS or visible < 1:
            known = ", ".join(ORDERS)
            raise OptionError(f"visible={visible}, order={order!r}: give 1 or more, and of {known}")
        Fifo().check(workload, cluster)
        self.metadata = {"render_modes": []}
        self.environment = Environment(workload, cluster, audit=audit)
        self._visible, self._order = visible, ORDERS[order]
        self._workers = np.array([job.gpus_per_worker for job in workload.jobs])
        back = (time for time, goes, _ in cluster.changes if not goes)
        self._last = max([workload.jobs[-1].submit_ticks, *back])
        self._lent = [cluster.order[1][name] for name in cluster.loan_servers]
        classes = len(self.environment.where.gpus(cluster))
        size = (visible * len(FEATURES) + classes + 1,)
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, size, np.float32)
        self.action_space = gymnasium.spaces.Discrete(visible + 1)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begin anew; the simulation draws no random numbers."""
        super().reset(seed=seed, options=options)
        self._begin(self.environment.reset())
        return self._observed(), self._info()

    def step(self, action: Any) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Start or preempt a job, or let time pass."""
        reward, done = 0.0, False
        if not self._act(int(action)):
            forced = self._still() and not self._act(int(np.argmax(self._fits())))
            if forced and self._preempt:
                self._preempt.pop()
            lent = [name for name in self._state.cluster.loan_servers
                    if name in self._state.free_gpus]  # fmt: skip
            decision = Decision(self._start, self._preempt, sorted(lent))
            state, waiting, done = self.environment.step(decision)
            reward = -float(waiting)
            self._begin(state)
        return self._observed(), reward, done, False, self._info()

    def _begin(self, state: State) -> None:
        """Show a state, of which nothing is decided yet."""
        self._state = state
        self._jobs = state.arrays
        order = np.argsort(self._order(self._jobs), kind="stable")[: self._visible]
        self._rows = order
        self._start: dict[str, Allocation] = {}
        self._preempt: list[str] = []
        self._done = np.zeros(len(order), bool)
        free = state.free
        free[self._lent] = 0
        self._placement = Placement(state.cluster, free)

    def _fits(self) -> NDArray[np.bool_]:
        """Return whether each job that is shown could start now."""
        where, jobs = self._state.where, self._jobs.job[self._rows]
        worker = self._workers[jobs, None]
        free = np.where(where.servers[where.of_job[jobs]], self._placement.free // worker, 0)
        waits = (self._jobs.running[self._rows] == 0) & ~self._done
        fits: NDArray[np.bool_] = waits & (
            (free * worker).sum(axis=1) >= self._jobs.gpus[self._rows]
        )
        return fits

    def _mask(self) -> NDArray[np.int8]:
        runs = (self._jobs.running[self._rows] == 1) & ~self._done
        fits = self._fits()
        mask = np.zeros(self._visible + 1, np.int8)
        mask[: len(self._rows)] = runs | fits
        mask[-1] = not (self._still() and fits.any())
        return mask

    def _still(self) -> bool:
        """Return whether nothing runs, and no job or server is to come."""
        running = int(self._jobs.running.sum()) - len(self._preempt) + len(self._start)
        return not running and self._last <= self._state.time * TICKS

    def _act(self, action: int) -> bool:
        """Start or preempt a job; return whether there was something to do."""
        if action >= len(self._rows) or not self._mask()[action]:
            return False
        row = self._rows[action]
        job = self._state.workload.jobs[self._jobs.job[row]]
        if self._jobs.running[row]:
            self._preempt.append(job.id)
            self._placement.release(self._state.allocations[job.id])
        else:
            where = self._state.where
            usable = where.servers[where.of_job[self._jobs.job[row]]]
            placed = self._placement.place(job.gpus, job.gpus_per_worker, usable)
            assert placed is not None, "it fits, as the mask says"
            self._start[job.id] = placed
        self._done[action] = True
        return True

    def _observed(self) -> Floats:
        jobs, rows, cluster = self._jobs, self._rows, self._state.cluster
        now = float(self._state.time) * TICKS
        times = np.stack([jobs.remaining, now - jobs.submit, jobs.attained], axis=-1)[rows]
        shown = np.zeros((self._visible, len(FEATURES)))
        runs = (jobs.running[rows] == 1) ^ self._done
        shown[: len(rows), 0] = ~runs
        shown[: len(rows), 1] = runs
        shown[: len(rows), 2] = self._fits()
        shown[: len(rows), 3] = jobs.gpus[rows] / cluster.gpus
        shown[: len(rows), 4:] = np.log1p(np.maximum(times, 0) / TICKS) / LONGEST
        where = self._state.where
        free = where.by_class(self._placement.free) / np.maximum(where.gpus(cluster), 1)
        count = np.log1p(len(jobs.job)) / 20
        return np.concatenate([shown.ravel(), free, [count]]).clip(0, 1).astype(np.float32)

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self._mask(), "time": float(self._state.time)}


if ID not in gymnasium.registry:
    gymnasium.register(ID, entry_point=f"{__name__}:SchedulingEnv")
