"""Make the instance library: instances, best known solutions, bounds, index, MPS files.

    python instances/make.py [--problem NAME] [--anew]

Every number in it is checked: solutions by the checker, bounds by the exact method that the index
names. Run it after a change to a generator, a model or a method; a test compares the library with
what the code says today. The papers' examples and the small instances are generated again. The
larger ones stay as published, so that results for them stay comparable, and are solved again; with
`--anew` they are generated again, too. Open instances are made by `hard.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import pyomo.environ as pyo
import typer
from rich.console import Console
from rich.progress import track

import dlsched
from dlsched import library
from dlsched.errors import OptionError
from dlsched.files import write_bytes
from dlsched.objective import Bounds, Objective
from dlsched.records import bound_to_data, number_to_data
from dlsched.registry import problem
from dlsched.schema import Instance
from dlsched.traces import read_trace, snapshot

HERE = Path(__file__).parent
MPS = HERE.parent / "models" / "mps"
MOST_COLUMNS = 25_000
"""Models with more columns than this ship no MPS file; `dlsched export` writes it on demand."""
MOST_TABLES = 20
"""A placement's file states the model that `milp` ended with, so it takes as long as the proof."""
MOST_SERVERS = 4
"""Likewise sensitivity: solvers search alike servers one by one, and its test would take hours."""
LASTING = ("medium", "production", "trace", "open")
"""Kinds of instances that stay as they were published when a generator changes."""
Entry = tuple[str, Instance]


def named(name: str, made: Instance) -> Instance:
    """Return the instance under its name in the library."""
    return made.model_copy(update={"name": name})


def paper() -> Iterator[Entry]:
    """Yield the papers' own examples."""
    for name in dlsched.list_problems():
        for example in problem(name).module("generate").examples():
            yield "paper", example


def small() -> Iterator[Entry]:
    """Yield ten small instances of each problem: seconds by hand, an instant by machine."""
    for i in range(1, 11):
        made = dlsched.generate(
            "reclaiming", seed=i, servers=6 + 2 * i, demand=2 + i // 2, spread=0.3, flexible=0.2
        )
        yield "small", named(f"reclaiming-small-{i:02}", made)
    for i in range(1, 11):
        scaling = "linear" if i % 2 else "loss"
        made = dlsched.generate("elastic", seed=i, jobs=4 + i, capacity=10 + 2 * i, scaling=scaling)
        yield "small", named(f"elastic-small-{i:02}", made)
    for i in range(1, 6):
        made = dlsched.generate("interleaving", seed=i, jobs=8 + 4 * (i % 3), resources=2 + i % 3)
        yield "small", named(f"interleaving-small-{i:02}", made)
    for i in range(6, 11):
        made = dlsched.generate(
            "interleaving", seed=i, jobs=2 + i, resources=2 + i % 3, grouping="cover", budget=0.2
        )
        yield "small", named(f"interleaving-small-{i:02}", made)
    for i in range(1, 11):
        made = dlsched.generate(
            "utility", seed=i, jobs=2 + i // 2, slots=4 + i, gpus=3 + i % 4, per_machine=2,
            utility=("effective_throughput", "linear", "table")[i % 3], mix="even",
            utilization=0.8,
        )  # fmt: skip
        yield "small", named(f"utility-small-{i:02}", made)
    for i in range(1, 11):
        made = dlsched.generate(
            "placement", seed=i, tables=4 + i // 2, regions=2 + i % 3, jobs=5 + i,
            version=("v2", "v1")[i % 4 == 3], kinds=1 + i % 2, largest=0.4,
            move_share=0.5 if i % 5 == 4 else None, at_home=0.3 if i % 5 == 3 else 0.0,
        )  # fmt: skip
        yield "small", named(f"placement-small-{i:02}", made)
    for i in range(1, 11):
        servers, gpus = 1 + i // 4, (4, 2)[i % 2]
        made = dlsched.generate(
            "sensitivity", seed=i, servers=servers, gpus=gpus, memory=gpus * 62.5, multi=i > 3,
            allow_split=i % 3 > 0, split="40/40/20",
        )  # fmt: skip
        yield "small", named(f"sensitivity-small-{i:02}", made)


def medium() -> Iterator[Entry]:
    """Yield three instances of each problem between the two: seconds by machine."""
    for seed, servers in ((1, 48), (2, 96), (3, 192)):
        made = dlsched.generate("reclaiming", seed, servers=servers, spread=0.5)
        yield "medium", named(f"reclaiming-{servers}", made)
    for seed, items in ((1, 40), (2, 80), (3, 160)):
        made = dlsched.generate("elastic", seed, items=items, capacity=round(0.7 * items))
        yield "medium", named(f"elastic-{items}", made)
    for seed, jobs in ((1, 24), (2, 32), (3, 48)):
        made = dlsched.generate("interleaving", seed, jobs=jobs)
        yield "medium", named(f"interleaving-{jobs}", made)
    for seed, jobs, slots in ((1, 8, 20), (2, 10, 25), (3, 12, 30)):
        made = dlsched.generate("utility", seed, jobs=jobs, slots=slots, gpus=12)
        yield "medium", named(f"utility-{jobs}x{slots}", made)
    for seed, tables in ((1, 10), (2, 12), (4, 12)):
        made = dlsched.generate("placement", seed, tables=tables, jobs=tables + 4)
        yield "medium", named(f"placement-{tables}x4-{seed}", made)
    for seed, servers in ((1, 8), (2, 16), (3, 32)):
        made = dlsched.generate("sensitivity", seed, servers=servers, multi=True)
        yield "medium", named(f"sensitivity-{servers}", made)


def production() -> Iterator[Entry]:
    """Yield five instances of each problem in the papers' sizes, or the largest that are proved."""
    for seed, demand in enumerate((26, 52, 130, 260), start=1):
        made = dlsched.generate("reclaiming", seed=seed, demand=demand)
        yield "production", named(f"reclaiming-520-{demand}", made)
    made = dlsched.generate("reclaiming", seed=5, demand=130, flexible=0.5)
    yield "production", named("reclaiming-520-130-flexible", made)
    for seed, running in ((1, 0.5), (2, 1.0)):
        made = dlsched.generate("elastic", seed=seed, items=354, capacity=245, running=running)
        yield "production", named(f"elastic-354-{'phase2' if running == 1 else 'mixed'}", made)
    made = dlsched.generate("elastic", seed=3, items=354, capacity=245, scaling="loss")
    yield "production", named("elastic-354-loss", made)
    for seed, items, capacity in ((4, 3000, 600), (5, 20_000, 4000)):
        made = dlsched.generate("elastic", seed=seed, items=items, capacity=capacity)
        yield "production", named(f"elastic-{items}", made)
    for seed, jobs in ((1, 64), (2, 96), (3, 128)):
        made = dlsched.generate("interleaving", seed=seed, jobs=jobs)
        yield "production", named(f"interleaving-{jobs}-distinct", made)
    for seed, budget in ((4, 0.25), (5, 0.5)):
        made = dlsched.generate(
            "interleaving", seed=seed, jobs=1000, grouping="cover", distinct=False, budget=budget
        )
        yield "production", named(f"interleaving-1000-{round(100 * budget)}", made)
    for seed, jobs, slots, gpus, kind in (
        (1, 20, 40, 12, "effective_throughput"),
        (1, 20, 40, 12, "linear"),
        (2, 20, 40, 12, "table"),
        (2, 40, 60, 60, "effective_throughput"),
        (3, 40, 60, 60, "effective_throughput"),
    ):
        made = dlsched.generate(
            "utility", seed=seed, jobs=jobs, slots=slots, gpus=gpus, utility=kind
        )
        yield "production", named(f"utility-{jobs}x{slots}-{kind.split('_')[0]}-{seed}", made)
    for seed, tables, jobs, version in (
        (1, 15, 20, "v2"),
        (3, 15, 20, "v2"),
        (3, 30, 40, "v2"),
        (1, 30, 40, "v1"),
        (3, 30, 40, "v1"),
    ):
        made = dlsched.generate("placement", seed, tables=tables, jobs=jobs, version=version)
        yield "production", named(f"placement-{tables}x4x{jobs}-{version}-{seed}", made)
    for seed, name, options in (
        (1, "128-single", {"servers": 128}),
        (2, "128-whole", {"servers": 128, "multi": True, "allow_split": False}),
        (3, "512-single", {"servers": 512, "split": "30/60/10"}),
        (4, "512-multi", {"servers": 512, "multi": True}),
        (5, "64-distinct", {"servers": 64, "distinct": True}),
    ):
        made = dlsched.generate("sensitivity", seed=seed, **options)
        yield "production", named(f"sensitivity-{name}", made)


def from_trace() -> Iterator[Entry]:
    """Yield a crowded moment of the trace that the library ships."""
    moment = snapshot(read_trace("synthetic-1"), at=20 * 86400, servers=64)
    yield "trace", named("reclaiming-trace-20d", moment.reclaiming)
    yield "trace", named("elastic-trace-20d", moment.elastic)


def has_model(instance: Instance) -> bool:
    """Whether the model is small enough for a file to ship."""
    if instance.problem == "placement" and len(instance.tables) > MOST_TABLES:
        return False
    if instance.problem == "sensitivity" and instance.servers.count > MOST_SERVERS:
        return False
    try:
        built = dlsched.model(instance)
    except OptionError:  # the problem refuses to build one so large
        return False
    return sum(1 for _ in built.component_data_objects(pyo.Var)) <= MOST_COLUMNS


def record(kind: str, instance: Instance) -> dict[str, object]:
    """Solve an instance, write its files, and return its line in the index."""
    result = dlsched.solve(instance)
    assert result.status == "optimal" and result.objective is not None
    levels = [level.name for level in problem(instance.problem).levels]
    packed = kind not in ("paper", "small")
    folder = HERE / instance.problem
    suffix = ".json.gz" if packed else ".json"
    file = folder / f"{instance.name}{suffix}"
    dlsched.save(instance, file)
    dlsched.save(result.solution, folder / f"{instance.name}.sol{suffix}")
    held: dict[str, float] = {}
    modelled = has_model(instance)
    build = getattr(problem(instance.problem).module("model"), "refined", dlsched.model)
    built = build(instance) if modelled else None
    for i, level in enumerate(levels):
        name = f"{instance.name}.mps.gz" if i == 0 else f"{instance.name}.{level}.mps.gz"
        if modelled:
            dlsched.export(instance, MPS / name, level=level, held=held, built=built)
        held[level] = float(result.objective[i])
    proof = {"method": result.method, "solver": result.solver, "status": str(result.status)}
    return entry(kind, instance, file, modelled, result.objective, result.bound, proof)


def entry(
    kind: str,
    instance: Instance,
    file: Path,
    modelled: bool,
    objective: Objective,
    bound: Bounds,
    proof: dict[str, str | None],
) -> dict[str, object]:
    """Return an instance's line in the index."""
    return {
        "name": instance.name,
        "problem": instance.problem,
        "kind": kind,
        "file": str(file.relative_to(HERE)),
        "sha256": instance.sha256,
        "source": instance.source,
        "licence": "MIT",
        "mps": modelled,
        "objective": {k: number_to_data(v) for k, v in objective.as_dict().items()},
        "bound": {k: bound_to_data(v) for k, v in bound.as_dict().items()},
        "proof": proof,
    }


def write_index(lines: list[dict[str, object]]) -> None:
    """Write the index, open instances last."""
    lines = sorted(lines, key=is_open)
    rows = ",\n".join("    " + json.dumps(line) for line in lines)
    write_bytes(HERE / "index.json", f'{{\n  "instances": [\n{rows}\n  ]\n}}\n'.encode())
    library.index.cache_clear()


EARLIER = "by an earlier generator: "
"""Begins the source of an instance whose call makes another one today."""


def published(kind: str, made: Instance) -> Instance:
    """Return the instance as the library has it, if it is one of those that do not change."""
    if kind not in LASTING or made.name not in library.index():
        return made
    kept = dlsched.load(made.name)
    again = kept.sha256 == made.sha256
    return made if again else kept.model_copy(update={"source": f"{EARLIER}{made.source}"})


def main(
    only: Annotated[str | None, typer.Option("--problem", help="The others stay.")] = None,
    anew: Annotated[bool, typer.Option(help="Generate the larger ones again.")] = False,
) -> None:
    """Solve everything again, but for the open instances, and write what has changed."""
    entries = [
        (kind, made if anew else published(kind, made))
        for kind, made in (*paper(), *small(), *medium(), *production(), *from_trace())
    ]
    console = Console(stderr=True)
    old = library.index()
    lines = [
        record(kind, made) if only in (None, made.problem) else old[made.name]
        for kind, made in track(entries, "solving", console=console)
    ]
    names = {str(line["name"]) for line in lines} | {n for n, e in old.items() if is_open(e)}
    files = (*HERE.glob("*/*.json"), *HERE.glob("*/*.json.gz"), *MPS.glob("*.mps.gz"))
    for file in files:
        if file.name.split(".")[0] not in names:
            file.unlink()
    write_index([*lines, *(e for e in old.values() if is_open(e))])
    console.print(f"{len(lines)} instances in {library.root().name}/")


def is_open(line: Mapping[str, object]) -> bool:
    """Whether an index line is that of an open instance."""
    return line["kind"] == "open"


if __name__ == "__main__":
    typer.run(main)
