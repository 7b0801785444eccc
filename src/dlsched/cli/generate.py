"""``dlsched generate``: a random instance, or the cluster at a moment of a trace."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from typer import Argument, Option

from dlsched import api, registry
from dlsched.cli.exits import put
from dlsched.cli.options import Output, Reading, Seed, flag, given, offered
from dlsched.cli.output import Answer, fields
from dlsched.cli.progress import say
from dlsched.cli.reading import notes_on_stderr
from dlsched.cli.settings import parameters, settings, target
from dlsched.errors import DlschedError, OptionError
from dlsched.records import parse_duration, read_trace
from dlsched.registry.cluster_state import adapter
from dlsched.run import Stage
from dlsched.schema.envelope import Instance
from dlsched.schema.files import json_text
from dlsched.simulation.snapshots import snapshot


@dataclass(frozen=True)
class OfTrace:
    """An instance from a trace."""

    trace: str | None = Option(
        None,
        metavar="FILE",
        help="A job trace as it is published, or synthetic-1.",
        autocompletion=offered("traces", "files"),
    )
    at: str | None = Option(None, metavar="TIME", help="Moment of the trace: 3d, 12h, 90m.")
    servers: int | None = Option(None, metavar="N", min=1, help="Servers.")
    gpus: int | None = Option(None, metavar="N", min=1, help="GPUs on each server.")
    demand: int | None = Option(None, metavar="N", min=0, help="Servers to return.")
    layout: str = Option(
        "auto",
        "--format",
        metavar="NAME",
        help="philly, helios, gavel, pollux, sacct, ...; auto finds it out.",
        autocompletion=offered("formats of traces"),
    )

    def sizes(self) -> dict[str, Any]:
        """Return the sizes of the cluster that were given, by name."""
        return {n: v for n, v in given(self).items() if n in ("servers", "gpus", "demand")}


def generate(
    *,
    problem: str = Argument(
        metavar="PROBLEM",
        help="See: dlsched list problems.",
        autocompletion=offered("problems"),
    ),
    seed: Seed = 0,
    setting: list[str] = Option(
        [],
        "--set",
        metavar="K=V",
        help="A parameter of the generator: dlsched show PROBLEM; repeatable.",
    ),
    output: Output = None,
    source: OfTrace,
    reading: Reading,
) -> Answer:
    """Write a random instance with the paper's statistics, or one from a trace.

    Without -o the instance itself goes to stdout.
    """
    if output is not None:
        target(output, ".json", ".json.gz")
    if source.trace is None:
        _refuse_options_of_traces(source, reading)
        inst = _random(problem, seed, setting)
    else:
        inst = _from_trace(problem, source, reading, seed, setting)
    if output is None:
        data = inst.to_data()
        return Answer(data, partial(put, json_text(data)))
    api.save(inst, output)
    labels = {"name": inst.name, "problem": inst.problem}
    labels |= {"file": str(output), "sha256": inst.sha256}
    return Answer(labels, partial(fields, labels))


def _refuse_options_of_traces(source: OfTrace, reading: Reading) -> None:
    for name, value in source.sizes().items():
        raise OptionError(f"--{name} belongs to --trace; write --set {name}={value}")
    if source.at is not None or reading.column:
        raise OptionError("--at and --column belong to --trace; name the trace, or leave them out")
    for name in given(reading):
        raise OptionError(f"{flag(name)} belongs to --trace; name the trace, or leave it out")


def _random(problem: str, seed: int, pairs: list[str]) -> Instance:
    generator = registry.problem(problem).module("generate").generate
    chosen = settings(pairs, parameters(generator), f"generate {problem}")
    try:
        say(Stage.BUILDING, f"an instance of {problem}")
        return api.generate(problem, seed, **chosen)
    except DlschedError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError, MemoryError) as error:
        given = ", ".join(pairs) or "its defaults"
        raise OptionError(f"generate {problem} cannot take {given}: {error}") from error


def _from_trace(
    problem: str, source: OfTrace, reading: Reading, seed: int, pairs: list[str]
) -> Instance:
    if source.trace is None or source.at is None:
        raise OptionError("--trace needs a moment; add --at 3d, or 12h, 90m, 45s")
    module = adapter(problem)
    known = parameters(module.instance)
    shared = {"elastic": parameters(snapshot, skip=2)["elastic"]}  # whatever the problem
    whose = f"{problem} at the moment of a trace"
    chosen = {"servers": module.SERVERS} | source.sizes()
    chosen |= settings(pairs, shared | known, whose)
    options = {k: chosen.pop(k) for k in known if k in chosen}
    if "demand" in chosen:
        raise OptionError(f"{problem} takes no --demand; leave it out")
    moment = parse_duration(source.at)
    say(Stage.LOADING, f"the trace {source.trace}")
    with notes_on_stderr("dlsched.records"):
        jobs = read_trace(source.trace, source.layout, **reading.options())
    say(Stage.BUILDING, f"the cluster at {source.at}: replaying the trace")
    shot = snapshot(jobs, moment, seed=seed, **chosen)
    return shot.instance(problem, **options)
