"""``dlsched generate``: a random instance, or the cluster at a moment of a trace."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dlsched import api, registry
from dlsched.cli import flags, trace_flags
from dlsched.cli.exits import put
from dlsched.cli.flags import Json
from dlsched.cli.output import fields, put_json
from dlsched.cli.progress import say
from dlsched.cli.reading import columns_of, notes_on_stderr
from dlsched.cli.settings import parameters, settings, target
from dlsched.errors import DlschedError, OptionError
from dlsched.records import parse_duration, read_trace, snapshot
from dlsched.registry.cluster_state import adapter
from dlsched.run import Stage
from dlsched.schema.envelope import Instance
from dlsched.schema.files import json_text

_SHARED = ("elastic", "spread")
"""Options of `dlsched.records.snapshot` that ``--set`` takes, whatever the problem."""


def generate(
    problem: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM",
            help="See: dlsched list problems.",
            autocompletion=flags.offered("problems"),
        ),
    ],
    seed: flags.Seed = 0,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="K=V", help="A parameter of the generator: dlsched show PROBLEM."
        ),
    ] = None,
    output: flags.Output = None,
    trace: Annotated[
        str | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="A job trace as it is published, or synthetic-1.",
            autocompletion=flags.offered("traces"),
        ),
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="Moment of the trace: 3d, 12h, 90m.")
    ] = None,
    servers: Annotated[
        int | None, typer.Option("--servers", metavar="N", min=1, help="With --trace: servers.")
    ] = None,
    gpus: Annotated[
        int | None, typer.Option("--gpus", metavar="N", min=1, help="With --trace: GPUs on each.")
    ] = None,
    demand: Annotated[
        int | None,
        typer.Option("--demand", metavar="N", min=0, help="With --trace: servers to return."),
    ] = None,
    layout: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help="With --trace: philly, helios, acme, pai, openb, muri or tiresias; "
            "auto finds it out.",
            autocompletion=flags.offered("trace_formats"),
        ),
    ] = "auto",
    column: trace_flags.Column = None,
    state: trace_flags.State = None,
    cluster: trace_flags.OfCluster = None,
    fractional: trace_flags.Fractional = None,
    plausibility: trace_flags.Plausibility = None,
    as_json: Json = False,
) -> None:
    """Write a random instance with the paper's statistics, or one from a trace.

    Without -o the instance itself goes to stdout.
    """
    if output is not None:
        target(output, ".json", ".json.gz")
    given = trace_flags.given(servers=servers, gpus=gpus, demand=demand)
    reading = trace_flags.reading(state, cluster, fractional, plausibility)
    if trace is None:
        _validate_trace_flags(given, at, column, reading)
        inst = _random(problem, seed, setting or [])
    else:
        mapping = columns_of(column) if column else layout
        inst = _from_trace(problem, trace, at, mapping, reading, given, seed, setting or [])
    if output is None:
        put(json_text(inst.to_data()))
        return
    api.save(inst, output)
    labels = {"name": inst.name, "problem": inst.problem}
    labels |= {"file": str(output), "sha256": inst.sha256}
    (put_json if as_json else fields)(labels)


def _validate_trace_flags(
    given: dict[str, Any], at: str | None, column: list[str] | None, reading: dict[str, Any]
) -> None:
    for name, value in given.items():
        raise OptionError(f"--{name} belongs to --trace; write --set {name}={value}")
    if at is not None or column:
        raise OptionError("--at and --column belong to --trace; name the trace, or leave them out")
    for name in reading:
        flag = trace_flags.flag_of(name)
        raise OptionError(f"--{flag} belongs to --trace; name the trace, or leave it out")


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
    problem: str,
    trace: str,
    at: str | None,
    mapping: Any,
    reading: dict[str, Any],
    given: dict[str, Any],
    seed: int,
    pairs: list[str],
) -> Instance:
    if at is None:
        raise OptionError("--trace needs a moment; add --at 3d, or 12h, 90m, 45s")
    module = adapter(problem)
    known = parameters(module.instance)
    shared = {k: v for k, v in parameters(snapshot, skip=2).items() if k in _SHARED}
    whose = f"{problem} at the moment of a trace"
    chosen = {"servers": module.SERVERS} | given | settings(pairs, shared | known, whose)
    options = {k: chosen.pop(k) for k in known if k in chosen}
    if "demand" in chosen:
        raise OptionError(f"{problem} takes no --demand; leave it out")
    moment = parse_duration(at)
    say(Stage.LOADING, f"the trace {trace}")
    with notes_on_stderr("dlsched.records.traces"):
        jobs = read_trace(trace, mapping, **reading)
    say(Stage.BUILDING, f"the cluster at {at}: replaying the trace")
    shot = snapshot(jobs, moment, seed=seed, **chosen)
    return shot.instance(problem, **options)
