"""Which jobs of a trace are taken, and how their GPUs are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from dlsched.errors import OptionError, UnknownName, spelled

FRACTIONS = ("up", "total", "drop")
"""What becomes of a worker that asks for a part of a GPU; see `dlsched.records.read_trace`."""


@dataclass(slots=True)
class Choice:
    """The jobs that `read_trace` is asked for, and the states and clusters it has met so far.

    Attributes
    ----------
    states, clusters
        Those that are taken; None for all.
    min_gpus
        Fewest GPUs of a job that is taken.
    fractional
        One of `FRACTIONS`.
    plausibility
        Whether implausible values are refused.
    """

    states: Collection[str] | None = None
    clusters: Collection[str] | None = None
    min_gpus: int = 0
    fractional: str = "up"
    plausibility: bool = True
    met_states: Counter[str | None] = field(default_factory=Counter)
    met_clusters: Counter[str | None] = field(default_factory=Counter)

    def takes(self, state: str | None, cluster: str | None) -> bool:
        """Return whether a job of this state and cluster is taken."""
        self.met_states[state] += 1
        self.met_clusters[cluster] += 1
        return (self.states is None or state in self.states) and (
            self.clusters is None or cluster in self.clusters
        )

    def validate(self, states: Iterable[str]) -> None:
        """Raise if a state or a cluster was asked for that no job had.

        Parameters
        ----------
        states
            The states that the format knows: one of them may have no job.

        Raises
        ------
        UnknownName
            Naming those that there are.
        """
        known = {*states, *filter(None, self.met_states)}
        for name in self.states or ():
            if name not in known:
                raise UnknownName("state of a job", name, known)
        there = set(filter(None, self.met_clusters))
        for name in self.clusters or ():
            if name not in there:
                raise UnknownName("cluster", name, there)


def make_choice(
    states: str | Sequence[str] | None,
    clusters: str | Sequence[str] | None,
    min_gpus: int,
    fractional: str,
    plausibility: bool,
) -> Choice:
    """Return the choice of some options of `read_trace`.

    Raises
    ------
    OptionError, UnknownName
        If an option has a value that it cannot take.
    """
    if fractional not in FRACTIONS:
        raise UnknownName("rule for fractional GPUs", fractional, FRACTIONS)
    if min_gpus < 0:
        raise OptionError(f"min_gpus={min_gpus} must be at least 0")
    return Choice(
        _names("states", states), _names("clusters", clusters), min_gpus, fractional, plausibility
    )


def _names(option: str, given: str | Sequence[str] | None) -> frozenset[str] | None:
    if given is None:
        return None
    names = frozenset([given] if isinstance(given, str) else given)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise OptionError(f"{option}={spelled(given)} must be a name or several; or leave it out")
    return names
