"""Single problems in independent tasks: what there is to gain, and what it costs to send.

    python benchmarks/decompose.py [exchange candidates windows proofs]

Without arguments every section; prints markdown and writes it to benchmarks/figures/decompose.md.
Times are processor seconds, so that they do not depend on what else the machine does, but for the
exchanges, which are waited for. A gain is the whole over what remains with eight workers: the part
that cannot be divided, an eighth of the tasks (no less than the largest), and the exchanges.
"""

from __future__ import annotations

import hashlib
import json
import operator
import pickle
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from decompose_windows import windows
from figures import arguments, write

import dlsched
from dlsched.execution import Local, run_all
from dlsched.problems.interleaving.programs.column_pool import GroupPool
from dlsched.problems.placement.exact.relaxation_tree import RelaxationTree
from dlsched.problems.utility.programs.lagrangian import Dual
from dlsched.proofs import prove as proving
from dlsched.proofs import subtrees
from dlsched.proofs import tree as trees
from dlsched.run import Run
from dlsched.simulation import Cluster, Workload
from dlsched.simulation.bounds import bound
from dlsched.simulation.bounds.mean import Relaxation

WORKERS = 8
EXCHANGES = 100
BYTES = 10_000
"""Of an exchange, about what prices or bounds of columns take."""
PROOFS = ("placement-30x4x40-v1-3",)
"""Proofs of minutes; that of placement-30x4x40-v2-3 was ended after three."""
NOT_DIVIDED = """\
Not divided: pricing, whose calls are a small part of the time, so that exchanges cost more than
they save; the nodes of the relaxation tree, four at a time, which several `threads` solve at the
same time without sending anything; rounds of prices, each of which needs all of the one before;
leaves of a check, since every worker would have to build the form."""
CHECKED = ("sensitivity-512-multi", "dispatch-3x2x20x15-2", "utility-small-10")


@dataclass
class Timed:
    """Calls of a function: the processor seconds of each, and the bytes of the first one's."""

    seconds: list[float] = field(default_factory=list)
    sent: int = 0
    depth: int = 0

    @property
    def whole(self) -> float:
        """The seconds of all calls."""
        return sum(self.seconds)


@contextmanager
def timed(owner: Any, name: str) -> Iterator[Timed]:
    """Replace a function by one whose calls are timed; calls within calls count once."""
    true: Callable[..., Any] = getattr(owner, name)
    calls = Timed()

    def call(*arguments: Any, **options: Any) -> Any:
        if not calls.seconds:
            calls.sent = size(arguments[1:])
        calls.depth += 1
        began = time.process_time()
        try:
            return true(*arguments, **options)
        finally:
            calls.depth -= 1
            if not calls.depth:
                calls.seconds.append(time.process_time() - began)

    setattr(owner, name, call)
    try:
        yield calls
    finally:
        setattr(owner, name, true)


def size(arguments: Any) -> int:
    """Return the bytes of what can be pickled of some arguments."""
    total = 0
    for argument in arguments:
        try:
            total += len(pickle.dumps(argument))
        except (TypeError, AttributeError, pickle.PicklingError):  # as the run: not to be sent
            continue
    return total


def waited(on: Local, count: int) -> float:
    """Return the seconds of some calls, one after another, of a worker."""
    began = time.perf_counter()
    run_all(partial(operator.concat, b""), [bytes(BYTES)] * count, on=on)
    return time.perf_counter() - began


def exchanges() -> dict[str, tuple[float, float]]:
    """Return the seconds until a first call has its answer, and of each further one."""
    import distributed

    local = [waited(Local(1), n) for n in (1, EXCHANGES)]
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        began = time.perf_counter()
        client.submit(operator.concat, b"", bytes(BYTES), pure=False).result()
        first = time.perf_counter() - began
        began = time.perf_counter()
        for _ in range(EXCHANGES):
            client.submit(operator.concat, b"", bytes(BYTES), pure=False).result()
        each = (time.perf_counter() - began) / EXCHANGES
    return {
        "process of this machine": (local[0], (local[1] - local[0]) / (EXCHANGES - 1)),
        "Dask worker of this machine": (first, each),
    }


def exchange() -> Iterator[str]:
    """Yield what an exchange of 10 kB takes."""
    yield "## An exchange of 10 kB with a worker\n"
    yield "| worker | until the first answer, s | further ones, ms each |\n|---|---|---|"
    for name, (first, each) in exchanges().items():
        yield f"| {name} | {first:.2f} | {1000 * each:.1f} |"


class Source(NamedTuple):
    """What could be divided.

    Attributes
    ----------
    owner, function
        What is timed.
    a_round
        Calls of it that need nothing of each other; 0 if none does.
    tasks
        Into how many tasks a round falls.
    call
        What calls it.
    """

    name: str
    owner: Any
    function: str
    a_round: int
    tasks: int
    call: Callable[[], object]


def sources() -> Iterator[Source]:
    """Yield what could be divided."""
    yield Source(
        "pricing of utility, `dantzig_wolfe`, utility-small-10",
        *(Dual, "price", 1, 12),
        lambda: dlsched.solve("utility-small-10", "dantzig_wolfe", time_limit=60),
    )
    yield Source(
        "pricing of utility, `dantzig_wolfe`, 60 jobs",
        *(Dual, "price", 1, 60),
        lambda: dlsched.solve(
            dlsched.generate("utility", 1, jobs=60), "dantzig_wolfe", time_limit=30
        ),
    )
    yield Source(
        "pricing of interleaving, `column_generation`, interleaving-96-distinct",
        *(GroupPool, "price", 1, 96),
        lambda: dlsched.solve("interleaving-96-distinct", "column_generation", time_limit=30),
    )
    yield Source(
        "relaxation tree of placement, placement-30x4x40-v1-3",
        *(RelaxationTree, "value", 4, 4),
        lambda: dlsched.bound("placement-30x4x40-v1-3", "relaxation_tree"),
    )
    jobs = Workload.from_trace("synthetic-1", limit=5_000)
    yield Source(
        f"bound on mean completion time, {len(jobs.jobs):,} jobs, rounds of prices",
        *(Relaxation, "inner", 1, WORKERS),
        lambda: bound(jobs, Cluster.uniform(16, 8)),
    )
    for name in CHECKED:
        yield Source(
            f"check of the proof of {name}, leaves",
            *(trees, "proves", 0, WORKERS),
            lambda name=name: dlsched.check_proof(name),  # type: ignore[misc]
        )


def candidates() -> Iterator[str]:
    """Yield what a division of each candidate could gain."""
    yield "## Candidates\n"
    _, each = exchanges()["Dask worker of this machine"]
    yield f"An exchange of Dask is {1000 * each:.1f} ms here; a check's calls are one round.\n"
    yield (
        "| what | whole, s | in calls, s | calls | s each | kB sent to each | limit of the gain "
        "| gain with 8 workers |\n|---|---|---|---|---|---|---|---|"
    )
    for source in sources():
        source.call()  # imports what it needs
        with timed(source.owner, source.function) as calls:
            began = time.process_time()
            source.call()
            whole = time.process_time() - began
        count = len(calls.seconds)
        rest = max(0.0, whole - calls.whole)
        rounds = count / source.a_round if source.a_round else 1
        gained = whole / (rest + calls.whole / min(WORKERS, source.tasks) + rounds * each)
        limit = f"{whole / rest:.1f}" if rest > whole / 1000 else "-"
        yield (
            f"| {source.name} | {whole:.2f} | {calls.whole:.2f} | {count:,} "
            f"| {calls.whole / max(1, count):.4f} | {calls.sent / 1000:.1f} | {limit} "
            f"| {gained:.1f} |"
        )
    yield f"\n{NOT_DIVIDED}"


def processor() -> tuple[float, float]:
    """Return the processor seconds of this process, and of those that it started."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    here, there = (used.ru_utime + used.ru_stime for used in both)
    return here, there


def proofs() -> Iterator[str]:
    """Yield the searches of large proofs as one tree, and with independent subtrees."""
    yield "## Subtrees of a proof\n"
    yield (
        "| instance | leaves of one tree | s | leaves with subtrees | s here | tasks | s in tasks "
        "| s of the largest | kB shared | kB each | gain with 8 workers | the same on Local(2) |"
        "\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    )
    for name in PROOFS:
        began = time.process_time()
        one = dlsched.prove(name)
        alone = time.process_time() - began
        sizes: list[int] = []

        def spread(function: Any, shared: Any, items: Any, stop: Any, sizes: Any = sizes) -> Any:
            sizes += [len(pickle.dumps(shared)), *(len(pickle.dumps(item)) for item in items)]
            return [subtrees.search_subtree(shared, item) for item in items]

        instance = dlsched.load(name)
        solution = dlsched.load_solution(dict(one.solution), instance.problem)
        known = solution.model_copy(update={"instance": "", "instance_sha256": None})
        with timed(subtrees, "search_subtree") as calls:
            began = time.process_time()
            proof = proving.prove_solution(instance, known, Run(), None, spread)
            whole = time.process_time() - began
        here = whole - calls.whole
        gain = alone / (here + max(*calls.seconds, calls.whole / WORKERS))
        equal = digest(dlsched.prove(name, on=Local(2))) == digest(proof)
        tasks = sizes[1:]
        yield (
            f"| {name} | {one.leaves:,} | {alone:.1f} | {proof.leaves:,} | {here:.1f} "
            f"| {len(calls.seconds)} | {calls.whole:.1f} | {max(calls.seconds):.1f} "
            f"| {sizes[0] / 1000:,.0f} | {sum(tasks) / len(tasks) / 1000:.1f} | {gain:.1f} "
            f"| {'yes' if equal else 'NO'} |"
        )


def digest(proof: Any) -> str:
    """Return the digest of a proof's trees."""
    content = json.dumps([level.to_data() for level in proof.levels])
    return hashlib.sha256(content.encode()).hexdigest()


if __name__ == "__main__":
    sections = {
        "exchange": exchange, "candidates": candidates, "windows": windows, "proofs": proofs,
    }  # fmt: skip
    write("decompose", sections, arguments())
