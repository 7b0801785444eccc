"""Make the instance library: instances, best known solutions, bounds, index, MPS files.

    python instances/make.py [--problem NAME] [--anew]

The instances are the ``ENTRIES`` of each problem's module ``library`` and the papers' examples.
Solutions are checked by the checker, bounds proved by the exact method that the index names; lines
of instances that only `prove.py` closes stay. Run it after a change to a generator, a model or a
method; a test compares the library with the results of the present code. The papers' examples are
made again. The others stay as published, so that results for them stay comparable, and are solved
again; with `--anew` they are drawn again, too, and the index names the commit that drew them. Open
instances are made by `hard.py`.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from subprocess import check_output
from typing import Annotated, Any

import pyomo.environ as pyo
import typer
from rich.console import Console
from rich.progress import track

import dlsched
from dlsched import library
from dlsched.errors import OptionError
from dlsched.library import LibraryEntry
from dlsched.records import read_trace
from dlsched.registry import BUILT_IN, problem
from dlsched.results.objective import Bounds, Objective, number_to_data
from dlsched.schema import Instance
from dlsched.schema.files import write_bytes
from dlsched.simulation import snapshot

HERE = Path(__file__).parent
MPS = HERE.parent / "models" / "mps"
MOST_COLUMNS = 25_000
"""Larger models have no MPS file in the library; `dlsched export` writes one on demand."""
PROVED = "prove"
"""Names in the index what has proved an optimum that no exact method proves in minutes."""
LASTING = ("small", "medium", "production", "trace", "open")
"""Kinds of instances that stay as they were published when a generator changes."""


def make(owner: str, entry: LibraryEntry) -> Instance:
    """Return an instance of the library under its name there, as the code makes it today."""
    if entry.kind == "trace":
        made = snapshot(read_trace("synthetic-1"), **entry.parameters).instance(owner)
    else:
        made = dlsched.generate(owner, entry.seed, **entry.parameters)
    return made.model_copy(update={"name": entry.name})


def entries() -> Iterator[tuple[str, Instance, bool]]:
    """Yield kind and instance, and whether its model is written; no open instances."""
    for name in BUILT_IN:
        for example in problem(name).module("generate").examples():
            yield "paper", example, True
    for kind in LASTING[:-1]:
        for name in BUILT_IN:
            for entry in problem(name).module("library").ENTRIES:
                if entry.kind == kind:
                    yield kind, make(name, entry), entry.mps


def is_small(instance: Instance) -> bool:
    """Whether the model is small enough for a file to ship."""
    try:
        built = dlsched.model(instance)
    except OptionError:  # the problem refuses to build one so large
        return False
    return sum(1 for _ in built.component_data_objects(pyo.Var)) <= MOST_COLUMNS


def record(kind: str, instance: Instance, mps: bool) -> dict[str, object]:
    """Solve an instance, write its files, and return its line in the index.

    Its model is written if `mps` and it is small.
    """
    result = dlsched.solve(instance)
    assert result.status == "optimal" and result.objective is not None
    levels = [level.name for level in problem(instance.problem).levels]
    packed = kind not in ("paper", "small")
    folder = HERE / instance.problem
    suffix = ".json.gz" if packed else ".json"
    file = folder / f"{instance.name}{suffix}"
    folder.mkdir(exist_ok=True)
    dlsched.save(instance, file)
    dlsched.save(result.solution, folder / f"{instance.name}.sol{suffix}")
    held: dict[str, float] = {}
    modelled = mps and is_small(instance)
    build = getattr(problem(instance.problem).module("exact"), "refined", dlsched.model)
    built = build(instance) if modelled else None
    for i, level in enumerate(levels):
        name = f"{instance.name}.mps.gz" if i == 0 else f"{instance.name}.{level}.mps.gz"
        if modelled:
            dlsched.export(instance, MPS / name, level=level, held=held, built=built)
        held[level] = float(result.objective[i])
    proof = {"method": result.method, "solver": result.solver, "status": str(result.status)}
    return index_line(kind, instance, file, modelled, result.objective, result.bound, proof)


def index_line(
    kind: str,
    instance: Instance,
    file: Path,
    modelled: bool,
    objective: Objective,
    bounds: Bounds,
    proof: dict[str, str | None],
) -> dict[str, object]:
    """Return an instance's line in the index.

    The credit for a best known solution, and the proof that it is optimal, stay as long as no
    better one is found.
    """
    values = {k: number_to_data(v) for k, v in objective.as_dict().items()}
    old = library.index().get(instance.name, {})
    same = (old.get("sha256"), old.get("objective")) == (instance.sha256, values)
    kept = {key: old[key] for key in ("credit", "certificate") if same and key in old}
    return {
        "name": instance.name,
        "problem": instance.problem,
        "kind": kind,
        "file": str(file.relative_to(HERE)),
        "sha256": instance.sha256,
        "source": instance.source,
        "licence": "MIT",
        "mps": modelled,
        "objective": values,
        "bound": {k: b.to_data() if b else None for k, b in bounds.as_dict().items()},
        "proof": proof,
    } | kept


def write_index(
    lines: list[dict[str, object]], folder: Path = HERE, drawn_at: str | None = None
) -> None:
    """Write the index, open instances last.

    Parameters
    ----------
    drawn_at
        The commit whose generators drew the instances; by default as before.
    """
    if drawn_at is None:
        drawn_at = json.loads((HERE / "index.json").read_text())["drawn_at"]
    lines = sorted(lines, key=is_open)
    rows = ",\n".join("    " + json.dumps(line) for line in lines)
    head = f'  "drawn_at": "{drawn_at}",\n  "instances": [\n'
    write_bytes(folder / "index.json", f"{{\n{head}{rows}\n  ]\n}}\n".encode())
    library.reload()


EARLIER = "by an earlier generator: "
"""Begins the source of an instance whose call makes another one today."""


def published(kind: str, made: Instance) -> Instance:
    """Return the instance as the library has it, if it is one of those that do not change."""
    if kind not in LASTING or made.name not in library.index():
        return made
    kept = dlsched.load(made.name)
    source = str(kept.source)
    if kept.sha256 == made.sha256 or source.startswith(EARLIER):
        return kept
    return kept.model_copy(update={"source": f"{EARLIER}{source}"})


def main(
    only: Annotated[str | None, typer.Option("--problem", help="The others stay.")] = None,
    anew: Annotated[bool, typer.Option(help="Draw all instances again.")] = False,
) -> None:
    """Solve everything again, but for the open instances, and write what has changed."""
    made = [
        (kind, instance if anew else published(kind, instance), mps)
        for kind, instance, mps in entries()
    ]
    console = Console(stderr=True)
    old = library.index()
    lines = [
        record(kind, instance, mps)
        if only in (None, instance.problem) and not is_beyond(old.get(instance.name, {}))
        else dict(old[instance.name])
        for kind, instance, mps in track(made, "solving", console=console)
    ]
    names = {str(line["name"]) for line in lines} | {n for n, e in old.items() if is_open(e)}
    files = (*HERE.glob("*/*.json"), *HERE.glob("*/*.json.gz"), *MPS.glob("*.mps.gz"))
    for file in files:
        if file.name.split(".")[0] not in names:
            file.unlink()
    commit = ["git", "rev-parse", "HEAD"]
    drawn_at = check_output(commit, cwd=HERE, text=True).strip() if anew else None
    write_index([*lines, *(e for e in old.values() if is_open(e))], drawn_at=drawn_at)
    console.print(f"{len(lines)} instances in {library.root().name}/")


def is_beyond(line: Mapping[str, Any]) -> bool:
    """Whether only `prove` has shown the optimum of an index line, no exact method."""
    return bool(line) and line["proof"]["method"] == PROVED


def is_open(line: Mapping[str, object]) -> bool:
    """Whether an index line is that of an open instance."""
    return line["kind"] == "open"


if __name__ == "__main__":
    typer.run(main)
