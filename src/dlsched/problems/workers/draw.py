"""Picture of workers: the GPUs of every server, and the workers that are placed there."""

from itertools import product

from dlsched.display.drawing.cells import NAMED, Mark, Owner, Picture, Piece
from dlsched.display.drawing.colours import (
    IDLE,
    OTHER,
    Colouring,
    Differences,
    Look,
    by_name,
    by_number,
    default_of,
    differences,
    gpus_of_a,
)
from dlsched.display.drawing.frame import View, framed
from dlsched.display.drawing.style import ink
from dlsched.problems.workers.definition.check import check
from dlsched.problems.workers.definition.schema import (
    KINDS,
    POOLS,
    Instance,
    Kind,
    Server,
    Solution,
)

COLOR_BY = ("job", "kind", "gpus")
"""What placed workers can be coloured by: their job, base or flexible, the GPUs of a worker."""
_KINDS: dict[Kind, Look] = {
    "base": Look("#0072b2", "base worker"),
    "flexible": Look("#e69f00", "flexible worker"),
}
_BEFORE = Look(OTHER, "in use before")
_HATCHED = Mark("flexible worker", IDLE, hatch="//////")


def differing(instance: Instance, a: Solution, b: Solution) -> Differences:
    """Return the jobs that get other numbers of workers in two solutions."""
    first, second = (_numbers(solution) for solution in (a, b))
    names = [job.id for job in instance.jobs]
    return differences(names, first, second, "numbers of workers of each kind")


def _numbers(solution: Solution) -> dict[str, tuple[int, ...]]:
    """Return for each placed job its number of workers of each kind."""
    return {
        name: tuple(sum(placed.counts(kind).values()) for kind in KINDS)
        for name, placed in solution.placement.items()
    }


@framed(check, differing)
def draw(instance: Instance, solution: Solution | None, view: View) -> Picture:
    """Draw the GPUs of all servers, training servers first.

    Up to 24 servers have a row each, with a box for each worker and its job's name; flexible
    workers are hatched. Of more servers, each is a column of cells, and those on loan are framed.
    Without a solution only the GPUs in use before are drawn. The default of `color_by` is the job,
    or with more jobs than looks the kind; of more than 24 servers the GPUs of a worker.
    """
    named = len(instance.servers) <= NAMED
    default = default_of([job.id for job in instance.jobs], "kind") if named else "gpus"
    color_by = view.choose(COLOR_BY, default)
    colouring = _colouring(instance, color_by)
    servers = sorted(instance.servers, key=lambda server: POOLS.index(server.pool))
    colours = _KINDS if color_by == "kind" else None
    pieces: dict[str, list[Piece]] = {server.id: _in_use_before(server) for server in servers}
    kinds: dict[str, set[Kind]] = {server.id: set() for server in servers}
    placement = solution.placement.items() if solution else ()
    for (name, placed), kind in product(placement, KINDS):
        j = instance.job_index[name]
        look = view.look(name, colours[kind] if colours else colouring.look(j))
        marks = (_HATCHED,) * (kind == "flexible" and not colours)
        piece = Piece(instance.jobs[j].gpus_per_worker, look, name * named, marks)
        for server_id, count in placed.counts(kind).items():
            pieces[server_id] += [piece] * count
            kinds[server_id].add(kind)
    frame = Mark("on loan", edge=ink(), line=1.4)
    owners = []
    for server in servers:
        frames = (frame,) * (server.pool == "loan" and not named)
        note = _where(instance, server, kinds[server.id])
        owners.append(Owner(server.id, server.gpus, pieces[server.id], note, frames))
    loan = sum(server.pool == "loan" for server in servers)
    return Picture(
        f"{len(servers):,} servers, {loan:,} on loan, {len(instance.jobs):,} jobs",
        owners,
        "GPUs" if named else "servers, training servers first; a server is a column of its GPUs",
        "server" if named else "servers",
        form="rows" if named else "columns",
        colouring=colouring,
        what="jobs" if color_by == "job" else "sizes",
        key=(*_KINDS.values(), _BEFORE),
        begin=0 if named else 1,
    )


def _in_use_before(server: Server) -> list[Piece]:
    """Return the GPUs that are in use before, which no solution changes."""
    before = server.gpus - server.free
    return [Piece(before, _BEFORE)] if before else []


def _where(instance: Instance, server: Server, kinds: set[Kind]) -> str:
    """Return the pool of a server, and its group with the workers that it gets."""
    if server.pool == "training":
        return "training"
    group = server.group or ("".join(kinds) if len(kinds) == 1 else None)
    return f"on loan, {group}" if group and instance.separate_groups else "on loan"


def _colouring(instance: Instance, color_by: str) -> Colouring:
    if color_by == "gpus":
        colouring = by_number([job.gpus_per_worker for job in instance.jobs])
        return colouring.renamed(gpus_of_a("worker"))
    return by_name([job.id for job in instance.jobs])
