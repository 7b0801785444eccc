"""HadarE: Hadar decides which copies of forked jobs run (section V-A)."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dlsched.problems.utility.definition.schema import Instance
from dlsched.problems.utility.heuristics.hadar import Hadar
from dlsched.problems.utility.structures.slot_simulation import Grants, Rounds
from dlsched.schema import Id, Number


class Copies:
    """Decides slot by slot: every job has a copy for each machine, and Hadar takes them as jobs.

    The copy for a machine runs nowhere else, so that two copies of a job are never on one machine.
    Its utility is its job's, and its work is the job's, or its share of it: section V-B divides the
    steps left into portions by throughput before a round; section V-A sends all copies to Hadar and
    does not say whether Hadar sees these portions or the whole **(D)**.

    Parameters
    ----------
    divided
        Whether the work of a copy is its share of its job's: what all copies do in the same time.
    factors
        What each job's utility is multiplied by; None for 1.
    limits
        The most copies of each job; None for one on each machine. Where Hadar chooses more, the
        fastest are kept, and it decides again on what is left.

    Attributes
    ----------
    scanned
        The number of decisions in which the program of Hadar would have been too large.
    """

    def __init__(
        self,
        instance: Instance,
        divided: bool,
        factors: Sequence[Fraction] | None = None,
        limits: Sequence[int] | None = None,
    ) -> None:
        self.instance, self.divided = instance, divided
        self.factors = factors or [Fraction(1)] * len(instance.jobs)
        self.limits = limits or [len(instance.machines)] * len(instance.jobs)
        self.scanned = 0

    def decide(self, rounds: Rounds) -> Grants:
        """Return the machines of the copies that run in the slot."""
        free = {machine.id: dict(machine.gpus) for machine in self.instance.machines}
        held: dict[int, dict[Id, dict[str, int]]] = {j: {} for j in rounds.queue}
        while chosen := self._choose(rounds, free, held):
            for j, machine, kind in chosen:
                held[j][machine] = {kind: self.gpus(j)}
                free[machine][kind] -= self.gpus(j)
        return {j: machines for j, machines in held.items() if machines}

    def gpus(self, job: int) -> int:
        """Return the GPUs of a copy: one where the instance forks its jobs, else the job's."""
        return 1 if self.instance.forking else self.instance.jobs[job].workers

    def _choose(
        self,
        rounds: Rounds,
        free: Mapping[Id, Mapping[str, int]],
        held: Mapping[int, Mapping[Id, Mapping[str, int]]],
    ) -> list[tuple[int, Id, str]]:
        """Return copies that Hadar runs on what is free, fastest first, within the limits."""
        fits = [
            (j, machine)
            for machine in free
            for j in held
            if machine not in held[j]
            and len(held[j]) < self.limits[j]
            and self.rate(j, free[machine])
        ]
        if not fits:
            return []
        copies = Rounds(self._copied(fits, free))
        copies.slot = rounds.slot
        copies.left = [self._left(rounds, j, machine) for j, machine in fits]
        hadar = Hadar(
            copies.instance,
            factors=[self.factors[j] for j, _ in fits],
            machines=[machine for _, machine in fits],
        )
        granted = [(*fits[c], gpus[fits[c][1]]) for c, gpus in hadar.decide(copies).items()]
        self.scanned += hadar.scanned
        granted.sort(key=lambda grant: -self.rate(grant[0], grant[2]))
        count = {j: len(machines) for j, machines in held.items()}
        chosen: list[tuple[int, Id, str]] = []
        for j, machine, gpus in granted:
            if count[j] < self.limits[j]:
                count[j] += 1
                chosen.append((j, machine, next(iter(gpus))))
        return chosen

    def _copied(
        self, fits: Sequence[tuple[int, Id]], free: Mapping[Id, Mapping[str, int]]
    ) -> Instance:
        """Return the instance of these copies as jobs, on what is free of the machines."""
        inst = self.instance
        machines = [m.model_copy(update={"gpus": free[m.id]}) for m in inst.machines]
        jobs = [
            inst.jobs[j].model_copy(update={"id": f"c{c}", "workers": self.gpus(j)})
            for c, (j, _) in enumerate(fits)
        ]
        changed = {"must_finish": False, "forking": False}
        parts = {"machines": tuple(machines), "jobs": tuple(jobs)}
        return inst.model_copy(update=changed | parts)

    def _left(self, rounds: Rounds, job: int, machine: Id) -> Number:
        """Return the iterations of a copy: what is left of its job, or its share."""
        left = rounds.left[job]
        if not self.divided:
            return left
        rates = {m.id: self.rate(job, m.gpus) for m in self.instance.machines}
        fastest = sorted(rates.values(), reverse=True)[: self.limits[job]]
        return Fraction(left) * Fraction(rates[machine]) / sum(map(Fraction, fastest))

    def rate(self, job: int, gpus: Mapping[str, int]) -> Number:
        """Return the best rate of a copy on these GPUs of one machine; 0 if it does not fit."""
        owner, need = self.instance.jobs[job], self.gpus(job)
        return max((self.instance.rate(owner, k) for k, n in gpus.items() if n >= need), default=0)
