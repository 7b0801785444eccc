"""Where the runs of a sweep are made: on this machine, on a Dask cluster, or in shards."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dlsched.errors import OptionError
from dlsched.sweeps import allotment
from dlsched.sweeps.calls import in_processes, on_dask

RETRIES = 2
"""How often a run is made again whose worker died, or that was killed from outside."""
_SHARD = re.compile(r"(\d+)/(\d+)")


def _whole(name: str, value: Any, least: int) -> None:
    """Refuse what is no whole number, or too small a one."""
    try:
        whole = operator.index(value)
    except TypeError:
        raise OptionError(f"{name}={value!r} must be a whole number") from None
    if whole < least:
        raise OptionError(f"{name}={value!r} must be at least {least}")


@dataclass(frozen=True)
class Local:
    """This machine.

    Attributes
    ----------
    jobs
        Number of runs at a time. Times are comparable only if each run has a core of its own.

    Raises
    ------
    OptionError
        If `jobs` is no whole number, or below 1.
    """

    jobs: int = 1

    def __post_init__(self) -> None:
        """Refuse a number of runs that is impossible."""
        _whole("jobs", self.jobs, least=1)

    def independent(
        self,
        function: Callable[[Any, Any], Any],
        shared: Any,
        items: Sequence[Any],
        stop: Callable[[], object],
    ) -> list[Any] | None:
        """Return what a function returns of each item; see `dlsched.sweeps.calls.in_processes`."""
        return in_processes(self.jobs, function, shared, items, stop)


@dataclass(frozen=True)
class Dask:
    """A Dask cluster.

    Attributes
    ----------
    cluster
        A ``distributed.Client``, a cluster object as ``dask_jobqueue.SLURMCluster``, the address of
        a scheduler, or the path of a scheduler file.
    security
        A ``distributed.Security`` for addresses with ``tls://``; by default what Dask's own
        configuration says.
    wait
        Seconds to wait for workers while there are none; without end by default, as jobs of a
        batch system may be queued for hours. Workers that cannot make the runs are another thing:
        if there are no others, the sweep ends.
    """

    cluster: Any
    security: Any = None
    wait: float | None = None

    def independent(
        self,
        function: Callable[[Any, Any], Any],
        shared: Any,
        items: Sequence[Any],
        stop: Callable[[], object],
    ) -> list[Any] | None:
        """Return what a function returns of each item; see `dlsched.sweeps.calls.on_dask`."""
        return on_dask(self.cluster, self.security, function, shared, items, stop)


@dataclass(frozen=True)
class Shards:
    """One of `n` independent parts of a planned sweep, made on this machine.

    Attributes
    ----------
    k, n
        The part, from 0 to n - 1, and the number of parts.
    jobs
        Number of runs at a time; by default as many as the CPUs that a batch system or a container
        has given to this process allow, see `dlsched.sweeps.allotment`.

    Raises
    ------
    OptionError
        If there is no such part, or a number is not whole.
    """

    k: int
    n: int
    jobs: int | None = None

    def __post_init__(self) -> None:
        """Refuse a part that there is not."""
        _whole("k", self.k, least=0)
        _whole("n", self.n, least=1)
        if self.k >= self.n:
            what = f"there is no shard {self.k}/{self.n}"
            raise OptionError(f"{what}; of {self.n} shards the first is 0, the last {self.n - 1}")
        if self.jobs is not None:
            _whole("jobs", self.jobs, least=1)

    @classmethod
    def parse(cls, text: str, jobs: int | None = None) -> Shards:
        """Return the shard that a text as ``3/200`` names.

        Raises
        ------
        OptionError
            If the text has another form, or there is no such shard.
        """
        match = _SHARD.fullmatch(text)
        if match is None:
            raise OptionError(
                f"--shard {text} names no shard; write k/n, as 0/4 for the first of 4"
            )
        return cls(int(match[1]), int(match[2]), jobs)

    def jobs_for(self, threads: int) -> int:
        """Return the number of runs at a time if each has this number of threads."""
        if self.jobs is not None:
            return self.jobs
        return max(1, (allotment.cpus() or 1) // threads)


Place = Local | Dask | Shards
