"""Small workloads, a policy that follows a script, and one that makes random legal decisions."""

import copy
import itertools
import random
import sqlite3
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from dlsched.simulation import (
    Allocation,
    BasePolicy,
    Cluster,
    Decision,
    Job,
    JobView,
    Share,
    Simulation,
    State,
    Workload,
    simulate,
)

ONE = Cluster.uniform(servers=1, gpus=1)
TWO = Cluster.uniform(servers=2, gpus=2)
MATRIX = {"cpus": [1, 2, 3], "memory": [2, 3], "share": [2, 2]}
COMPARED = ("segments", "completions", "decisions", "starts", "loans")
"""Tables of a log that are the same whenever the same simulation is run."""


def by_hand(*rows: Mapping[str, Any], head: Mapping[str, Any] | None = None, **plain: Any) -> Any:
    """Return jobs a, b, c and so on with one GPU and 10 s of work from 0, unless stated."""
    usual = {"submit": 0, "gpus": 1, "work": 10} | plain
    named = [{"id": ascii_lowercase[i]} | usual | dict(row) for i, row in enumerate(rows)]
    return Workload.parse({"name": "by hand", "jobs": named} | dict(head or {}), "by hand")


def audited(workload: Workload, cluster: Cluster, policy: Any, **options: Any) -> Simulation:
    """Simulate, and require that the audit finds nothing."""
    run = simulate(workload, cluster, policy, **options)
    assert run.audit(), run.audit()
    return run


def ends(run: Simulation) -> list[float]:
    """Return the jobs' completion times in seconds, in their order."""
    return [float(end) for end in run.jobs["end"]]


def rows(run: Simulation, table: str = "segments") -> list[dict[str, Any]]:
    """Return the rows of a table of the log, by column."""
    cursor = run.log.database.execute(f"SELECT * FROM {table} ORDER BY rowid")
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def column(run: Simulation, name: str, table: str = "segments") -> list[Any]:
    """Return a column of a table of the log."""
    return [row[name] for row in rows(run, table)]


def tables(run: Simulation) -> dict[str, Any]:
    """Return what two runs of the same simulation have in common."""
    return {table: rows(run, table) for table in COMPARED} | {"end": run.meta["end"]}


def changed(run: Simulation, *statements: str, values: Sequence[Any] = ()) -> Simulation:
    """Return a simulation with the same log after changes in SQL; `run` stays as it is.

    What the checks of the tables refuse is written as in logs of earlier versions, without checks.
    """
    other = copy.deepcopy(run)
    database = other.log.database
    for statement in statements:
        try:
            database.execute(statement, values)
        except sqlite3.IntegrityError:
            for table in (*COMPARED, "timings", "meta"):
                database.execute(f"ALTER TABLE {table} RENAME TO strict_{table}")
                names = [row[1] for row in database.execute(f"PRAGMA table_info(strict_{table})")]
                database.execute(f"CREATE TABLE {table} ({', '.join(names)})")
                database.execute(f"INSERT INTO {table} SELECT * FROM strict_{table} ORDER BY rowid")
                database.execute(f"DROP TABLE strict_{table}")
            database.execute(statement, values)
    return other


class Scripted(BasePolicy):
    """Decides what was written down for a time, and nothing at others."""

    name = "scripted"

    def __init__(self, script: Mapping[Any, Decision], **attributes: Any) -> None:
        super().__init__()
        self.script = script
        self.times: list[Any] = []
        vars(self).update(attributes)

    def decide(self, state: State) -> Decision:
        """Return the decision of this time."""
        self.times.append(state.time)
        return self.script.get(state.time, Decision())


def on(*shares: tuple[Any, ...], group: str | None = None, speed: Any = None) -> Allocation:
    """Return an allocation of (server, GPUs) pairs."""
    return Allocation(tuple(Share(*share) for share in shares), group, speed)


@cache
def entries(name: str, key: str = "case") -> list[dict[str, Any]]:
    """Return the entries of a file of simulations by hand."""
    text = Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8")
    return list(tomllib.loads(text)[key])


PROFILES = {
    "hungry": MATRIX | {"memory": [2], "throughput": [[0.5], [1], [1.5]]},
    "modest": MATRIX | {"memory": [2], "throughput": [[1], [1], [1]]},
}


def held(text: str) -> Allocation:
    """Return what a text says that a job holds."""
    places, *others = text.split(", ")
    named = dict(other.split() for other in others)
    shares = ((server, *map(int, amounts)) for server, *amounts in
              (place.split() for place in places.split(" + ")))  # fmt: skip
    speed = Fraction(named["speed"]) if "speed" in named else None
    return on(*shares, group=named.get("group"), speed=speed)


def decision(entry: Mapping[str, Any]) -> Decision:
    """Return a decision of a script."""
    start = {name: held(text) for name, text in entry.get("start", {}).items()}
    wake = Fraction(entry["wake"]) if "wake" in entry else None
    other = {key: entry[key] for key in ("preempt", "returned", "overhead") if key in entry}
    return Decision(start, wake=wake, **other)


def runs(case: Mapping[str, Any]) -> Iterator[Simulation]:
    """Simulate a case, with each of its policies, methods and options."""
    jobs = [dict(job) for job in case.get("jobs", [{}])]
    head = {key: case[key] for key in ("quotas", "matrices") if key in case}
    if case.get("policy") == "synergy":
        # An iteration takes a second at the proportional share.
        plain = {"profile": "modest", "iteration_time": 1}
        jobs = [plain | {"iterations": job["work"]} | job for job in jobs]
        head["matrices"] = PROFILES
    workload = by_hand(*jobs, head=head, **case.get("each", {}))
    servers = list(Cluster.of(case.get("servers", [{"gpus": 1}])).servers)
    loans = [{"time": time, "servers": count} for time, count in case.get("loans", [])]
    away = [dict(zip(("server", "start", "end"), row, strict=True)) for row in case.get("away", [])]
    data = {"servers": [s.model_dump() for s in servers], "loans": loans, "away": away}
    cluster = Cluster.parse(data, "by hand")
    if "script" in case:
        script = {Fraction(time): decision(entry) for time, entry in case["script"].items()}
        settings = {key: case[key] for key in ("interval", "on_events") if key in case}
        yield audited(workload, cluster, Scripted(script, **settings), stuck_after=100)
        return
    several = ([x] if not isinstance(x := case.get(key, plain), list) else x
               for key, plain in (("policy", None), ("method", None), ("options", {})))  # fmt: skip
    for policy, method, options in itertools.product(*several):
        stated = {name: None if x == "none" else x for name, x in options.items()}
        yield audited(workload, cluster, policy, **{"method": method} | stated)


ANY_AMOUNT = {
    "cpus": [0, 1, 3], "memory": [0, 50], "share": [3, 50], "throughput": [[1, 1], [1, 2], [1, 4]]
}  # fmt: skip
"""Throughput with whatever CPUs and memory; the proportional share is the most."""


def random_case(seed: int) -> tuple[Workload, Cluster]:
    """Return a random workload and a cluster for it."""
    rng = random.Random(seed)
    cluster = random_cluster(rng)
    return random_workload(rng, cluster), cluster


def random_cluster(rng: random.Random) -> Cluster:
    """Return up to four servers of several types; some of them on loan from time to time."""
    kinds = rng.choice([[None], ["v100", "k80"]])
    sized = rng.random() < 0.5
    servers = []
    for i in range(rng.randint(1, 4)):
        gpus = rng.choice([1, 2, 4])
        server: dict[str, Any] = {"id": f"s{i}", "gpus": gpus, "gpu_type": rng.choice(kinds)}
        if sized:
            server |= {"cpus": rng.choice([2, 3]) * gpus, "memory": 62.5 * gpus}
        if i and rng.random() < 0.4:
            server["pool"] = "loan"
        servers.append(server)
    lent = sum(server.get("pool") == "loan" for server in servers)
    times = sorted(rng.sample(range(400), 5)) if lent else []
    schedule = [{"time": t, "servers": rng.randint(0, lent)} for t in times]
    if schedule:
        schedule.append({"time": 500, "servers": lent})
    return Cluster.parse({"servers": servers, "loans": schedule}, "random cluster")


def random_workload(rng: random.Random, cluster: Cluster, count: int = 8) -> Workload:
    """Return jobs of all kinds that run on the servers which are always there."""
    room = sum(server.gpus for server in cluster.servers if server.pool == "training")
    pairs = sum(server.gpus // 2 * 2 for server in cluster.servers if server.pool == "training")
    types = sorted({server.gpu_type for server in cluster.servers} - {None}, key=str)
    sized = cluster.servers[0].cpus is not None
    jobs = []
    for i in range(count):
        gpus = rng.randint(1, min(room, 4))
        row: dict[str, Any] = {
            "id": f"j{i}",
            "submit": rng.choice([0, rng.randint(0, 20) * 10, round(rng.uniform(0, 200), 6)]),
            "gpus": gpus,
            "work": rng.choice([0, rng.randint(1, 90), round(rng.uniform(0.1, 90), 6)]),
            "restart": rng.choice([0, 0, 5, 7.25]),
            "checkpoints": rng.random() < 0.6,
            "fungible": rng.random() < 0.8,
            "heterogeneous": rng.random() < 0.5,
        }
        if gpus % 2 == 0 and gpus <= pairs and rng.random() < 0.3:
            row["gpus_per_worker"] = 2
        if rng.random() < 0.7:
            row["stages"] = [rng.choice([0, 1, 2, 3.5]) for _ in range(3)] + [1]
        if types and rng.random() < 0.5:
            row["rates"] = {kind: rng.choice([1, 2.5, 3]) for kind in types}
            row["gpu_type"] = rng.choice(types)
        if rng.random() < 0.3:
            row |= {"gpus_per_worker": 1, "min_gpus": 1, "max_gpus": rng.randint(gpus, room)}
            row |= {"scaling_loss": rng.choice([0, 0.2]), "mixed_efficiency": rng.choice([1, 0.7])}
        if sized and rng.random() < 0.4:
            row["profile"] = "any"
        jobs.append(row)
    data = {"name": "random", "jobs": jobs, "matrices": {"any": ANY_AMOUNT} if sized else {}}
    return Workload.parse(data, "random workload")


def profiled_case(seed: int, stages: int = 4) -> tuple[Workload, Cluster]:
    """Return a workload and a cluster that every policy can take: with all profiles.

    Jobs have stages, a matrix of throughput, iterations of whole milliseconds, and a priority; the
    servers are alike, and no job has more GPUs than one of them.
    """
    rng = random.Random(seed)
    gpus = rng.choice([2, 4])
    cluster = Cluster.uniform(rng.randint(1, 4), gpus, cpus=2 * gpus, memory=3 * gpus)
    matrices = {
        "hungry": MATRIX | {"throughput": [[0.5, 0.5], [1, 1.25], [1.5, 2]]},
        "modest": MATRIX | {"throughput": [[1, 1]] * 3},
    }
    jobs = []
    for i in range(rng.randint(1, 12)):
        times = [rng.randint(1, 40) / 100 for _ in range(stages)]
        iterations, seconds = rng.randint(1, 3000), round(sum(times), 3)
        jobs.append(
            {
                "id": f"j{i}",
                "submit": rng.choice([0, rng.randint(0, 20) * 60, rng.randint(0, 3000)]),
                "gpus": 2 ** rng.randint(0, gpus // 2),
                "work": iterations * Fraction(repr(seconds)),
                "iterations": iterations,
                "iteration_time": seconds,
                "stages": times,
                "restart": rng.choice([0, 5, 7]),
                "profile": rng.choice(sorted(matrices)),
                "priority": rng.randint(0, 1),
            }
        )
    data = {"name": "profiled", "jobs": jobs, "matrices": matrices}
    return Workload.parse(data, "profiled workload"), cluster


class RandomPolicy(BasePolicy):
    """Starts, moves, groups and preempts jobs at random; returns servers of the loan as it must.

    Its options are ``interval``, ``on_events``, and ``states``: whether it states speeds.
    It preempts less and less, so that it ends.
    """

    name = "random"

    def __init__(self, method: Any = None, **options: Any) -> None:
        super().__init__(method, **options)
        self.interval = options.get("interval")
        self.on_events = options.get("on_events", True)
        self.states = options.get("states", True)

    def decide(self, state: State) -> Decision:
        """Return a random decision that is possible."""
        return _Draft(state, self.states).decision()


class _Draft:
    """A decision in the making: what is free, and what every job holds."""

    def __init__(self, state: State, states: bool) -> None:
        self.state, self.states = state, states
        self.rng = random.Random(int(state.rng.integers(2**60)))
        self.servers = state.cluster.by_id
        self.jobs = state.workload.by_id
        self.free = {view.server.id: view.free for view in state.servers}
        self.amounts = {view.server.id: [view.free_cpus, view.free_memory]
                        for view in state.servers}  # fmt: skip
        self.held = {view.id: view.allocation for view in state.running if view.allocation}
        self.calm = 0.3 / (1 + state.number / 20)
        self.preempt: list[str] = []
        self.start: dict[str, Allocation] = {}
        self.overhead: dict[str, Any] = {}

    def decision(self) -> Decision:
        state, rng = self.state, self.rng
        returned = self._returned()
        moving: list[JobView] = []
        for view in state.running:
            assert view.allocation is not None
            forced = any(share.server in returned for share in view.allocation.shares)
            stuck = view.allocation.speed == 0
            if forced or stuck or rng.random() < self.calm:
                self._release(view.job)
                if rng.random() < 0.5:
                    self.preempt.append(view.id)
                else:
                    moving.append(view)
        for name in returned:
            del self.free[name]
        for view in moving:
            self._start(view.job)
            if view.id not in self.start:
                self.preempt.append(view.id)
        waiting = list(state.waiting)
        rng.shuffle(waiting)
        for view in waiting:
            if not self.held or rng.random() < 0.8:
                self._start(view.job)
        slow = any(allocation.speed == 0 for allocation in self.held.values())
        wake = None
        if slow or not self.held or rng.random() < 0.1:
            wake = state.time + rng.choice([1, Fraction(1, 3), 20])
        solved = {"seen": state.number} if rng.random() < 0.2 else {}
        return Decision(self.start, self.preempt, returned, self.overhead, wake, solved)

    def _returned(self) -> list[str]:
        """Return more servers than must be, from time to time."""
        pool = [view.server.id for view in self.state.servers if view.server.pool == "loan"]
        self.rng.shuffle(pool)
        surplus = len(pool) - self.state.loan
        if self.rng.random() < 0.05:
            surplus = min(len(pool), max(0, surplus) + 1)
        return pool[: max(0, surplus)]

    def _release(self, job: Job) -> None:
        allocation = self.held.pop(job.id)
        if not self._members(allocation.group):
            for share in allocation.shares:
                self._add(job, share, 1)

    def _members(self, group: str | None) -> list[str]:
        if group is None:
            return []
        return [name for name, allocation in self.held.items() if allocation.group == group]

    def _taken(self, job: Job, share: Share) -> list[Any]:
        """Return the CPUs and memory that a job holds with a share, as documented."""
        stated, server = [share.cpus, share.memory], self.servers[share.server]
        if job.profile is None:
            return [amount or 0 for amount in stated]
        usual = self.state.workload.matrices[job.profile].share
        has = [None if x is None else Fraction(x) / server.gpus
               for x in (server.cpus, server.memory)]  # fmt: skip
        each = [u if h is None else min(u, h) for u, h in zip(usual, has, strict=True)]
        return [share.gpus * e if s is None else s for s, e in zip(stated, each, strict=True)]

    def _add(self, job: Job, share: Share, sign: int) -> None:
        self.free[share.server] += sign * share.gpus
        for i, amount in enumerate(self._taken(job, share)):
            if self.amounts[share.server][i] is not None:
                self.amounts[share.server][i] += sign * Fraction(amount)

    def _start(self, job: Job) -> None:
        rng = self.rng
        joined = self._join(job) if rng.random() < 0.5 else None
        new = joined or self._place(job)
        if new is None:
            return
        if rng.random() < 0.15 and self.states:
            new = new._replace(speed=rng.choice([Fraction(1, 3), 2, 0, Fraction(5, 7)]))
        if joined is None:
            for share in new.shares:
                self._add(job, share, -1)
        self.held[job.id] = self.start[job.id] = new
        if rng.random() < 0.2:
            self.overhead[job.id] = rng.choice([0, 3, Fraction(1, 7)])

    def _join(self, job: Job) -> Allocation | None:
        """Share the GPUs of a group that has room for one more set of stages."""
        for name in self.rng.sample(sorted(self.held), len(self.held)):
            other = self.held[name]
            members = self._members(other.group)
            if other.group is None or not job.min_gpus <= other.gpus <= job.max_gpus:
                continue
            fits = len(members) < 4 and self._allowed(job, other.shares)
            fits = fits and all(self.jobs[member].stages for member in members)
            unlike = any(self.jobs[member].profile != job.profile for member in members)
            if unlike and any(None in share for share in other.shares):
                continue
            if fits and job.stages:
                return other._replace(speed=None)
        return None

    def _allowed(self, job: Job, shares: Sequence[Share]) -> bool:
        """Return whether a job may hold shares: whole workers, and pools that it can use."""
        pools = {self.servers[share.server].pool for share in shares}
        whole = all(share.gpus % job.gpus_per_worker == 0 for share in shares)
        one = pools == {"training"} or (pools == {"loan"} and job.fungible)
        return whole and (one or job.heterogeneous)

    def _fits(self, job: Job, shares: Sequence[Share]) -> bool:
        """Return whether there are the CPUs and the memory of shares."""
        return all(free is None or amount <= free for share in shares for amount, free in zip(
            self._taken(job, share), self.amounts[share.server], strict=True))  # fmt: skip

    def _place(self, job: Job) -> Allocation | None:
        """Place a job on random servers; try a few times, as not all that is drawn is allowed."""
        wanted = self.rng.randint(job.min_gpus, job.max_gpus)
        for gpus in (wanted, *[job.min_gpus] * 6):
            pools = self.rng.choice([["training"], ["loan"], ["training", "loan"]])
            free = {s: count for s, count in self.free.items() if self.servers[s].pool in pools}
            if sum(free.values()) < gpus:
                continue
            shares = self._shares(gpus, free)
            if self._allowed(job, shares) and self._fits(job, shares):
                group = f"g{self.state.number}-{job.id}" if self.rng.random() < 0.5 else None
                return Allocation(shares, group)
        return None

    def _shares(self, gpus: int, vacant: dict[str, int]) -> tuple[Share, ...]:
        rng, missing, shares = self.rng, gpus, []
        order = [name for name, free in vacant.items() if free]
        rng.shuffle(order)
        for i, name in enumerate(order):
            rest = sum(vacant[other] for other in order[i + 1 :])
            least = max(0, missing - rest)
            count = rng.randint(least, min(missing, vacant[name]))
            if count:
                shares.append(Share(name, count, *self._amounts(name)))
            missing -= count
        return tuple(shares)

    def _amounts(self, name: str) -> Sequence[Any]:
        if self.rng.random() < 0.5:
            return ()
        return [None if free is None else free * Fraction(1, self.rng.choice([2, 3]))
                for free in self.amounts[name]]  # fmt: skip
