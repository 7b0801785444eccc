"""``dlsched simulate``: replay a trace onto a cluster, with a policy that decides."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dlsched.cli import flags, trace_flags
from dlsched.cli.exits import Exit, put_note
from dlsched.cli.flags import Json
from dlsched.cli.output import fields, put_json
from dlsched.cli.progress import note, say
from dlsched.cli.reading import Source
from dlsched.cli.records import Outputs
from dlsched.cli.settings import settings
from dlsched.cli.trace_flags import given
from dlsched.errors import OptionError
from dlsched.records.history.writers.runs import BEGIN
from dlsched.run import Stage
from dlsched.simulation import Simulation
from dlsched.simulation.policies import find_policy, policy_options
from dlsched.simulation.workload.clock import TICKS
from dlsched.simulation.workload.profiles import profile_options

_DAY = 86400
_SHOWN = 5


def simulate(
    trace: Annotated[
        str,
        typer.Argument(
            metavar="TRACE",
            help="A job trace as it is published, or synthetic-1.",
            autocompletion=flags.offered("traces"),
        ),
    ],
    policy: Annotated[
        str,
        typer.Option(
            "--policy",
            "-p",
            metavar="NAME",
            help="See: dlsched list policies.",
            autocompletion=flags.offered("policies"),
        ),
    ],
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            metavar="METHOD",
            help="What solves the policy's problem; its own.",
            autocompletion=flags.offered("methods"),
        ),
    ] = None,
    servers: Annotated[
        int | None, typer.Option("--servers", metavar="N", min=1, help="8 by default.")
    ] = None,
    gpus: Annotated[
        int | None,
        typer.Option("--gpus", metavar="N", min=1, help="On each server; 8 by default."),
    ] = None,
    cpus: Annotated[
        int | None, typer.Option("--cpus", metavar="N", min=1, help="On each server.")
    ] = None,
    memory: Annotated[
        int | None, typer.Option("--memory", metavar="GB", min=1, help="Of each server.")
    ] = None,
    profiles: Annotated[
        str | None,
        typer.Option(
            "--profiles", metavar="NAME", help="What is added to the trace: muri or synergy."
        ),
    ] = None,
    profile_option: Annotated[
        list[str] | None,
        typer.Option("--profile-option", metavar="K=V", help="An option of --profiles."),
    ] = None,
    together: Annotated[
        bool, typer.Option("--together", help="All jobs count as submitted at the start.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="The first N jobs only.")
    ] = None,
    layout: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help="Of a trace: philly, helios, ...; of a scheduler's record: sacct, swf, kueue or "
            "csv; auto finds it out.",
            autocompletion=flags.offered("record_formats"),
        ),
    ] = "auto",
    column: trace_flags.Column = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns", metavar="NAMES", help="Of sacct without a header: jobid,submit,..."
        ),
    ] = None,
    state: trace_flags.State = None,
    of_cluster: trace_flags.OfCluster = None,
    fractional: trace_flags.Fractional = None,
    plausibility: trace_flags.Plausibility = None,
    resource: Annotated[
        str | None,
        typer.Option("--resource", metavar="R", help="Of a record: what counts, gpu, cpu or node."),
    ] = None,
    nodes: Annotated[
        str | None,
        typer.Option("--nodes", metavar="FILE", help="Of a record: the nodes; else their peak."),
    ] = None,
    partition: Annotated[
        str | None, typer.Option("--partition", metavar="NAME", help="Of a record: only its jobs.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="DAY", help="Of a record: from 2026-01-08 on.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="DAY", help="Of a record: until then.")
    ] = None,
    knows: Annotated[
        str | None,
        typer.Option(
            "--knows", metavar="WHAT", help="Of durations in a record: limit, truth or user_mean."
        ),
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="K=V", help="An option of the policy.")
    ] = None,
    seed: flags.Seed = 0,
    log: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="SQLite file for the log.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the log.")] = False,
    bounds: Annotated[
        bool, typer.Option("--bounds", help="Lower bounds over all policies, too.")
    ] = False,
    sacct: Annotated[
        Path | None,
        typer.Option("--sacct", metavar="FILE", help="Write it as `sacct` of Slurm prints it."),
    ] = None,
    swf: Annotated[
        Path | None,
        typer.Option("--swf", metavar="FILE", help="Write it in the Standard Workload Format."),
    ] = None,
    timeline: Annotated[
        Path | None,
        typer.Option(
            "--timeline",
            metavar="FILE",
            help="Draw every GPU over time: .html, that can be zoomed, .svg, .pdf or .png.",
        ),
    ] = None,
    begin: Annotated[
        str, typer.Option("--begin", metavar="TIME", help="Time 0 in --sacct and --swf, UTC.")
    ] = BEGIN,
    timezone: Annotated[
        str | None,
        typer.Option(
            "--timezone", metavar="ZONE", help="Of a record's times, and of those of --sacct; UTC."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Simulate a policy on a trace or a scheduler's record; its log is audited.

    Times are in seconds.
    """
    if resume and log is None:
        raise OptionError("--resume goes on with a log; name its file: --log FILE")
    chosen = settings(setting or [], policy_options(find_policy(policy)), f"the policy {policy}")
    outputs = Outputs(sacct, swf, timeline, begin, timezone or "UTC")
    outputs.require_usable()
    added = _profile_options(profiles, profile_option or [])
    say(Stage.LOADING, trace)
    record = {
        "columns": columns,
        "resource": resource,
        "nodes": nodes,
        "partition": partition,
        "since": since,
        "until": until,
        "knows": knows,
    }
    source = Source(
        trace,
        layout,
        column or (),
        trace_flags.reading(state, of_cluster, fractional, plausibility),
        given(**record),
        given(servers=servers, gpus=gpus, cpus=cpus, memory=memory),
        (profiles, added),
        given(together=together or None, limit=limit),
        timezone,
    )
    run_policy = source.load()

    def on_progress(now: float, completed: int, total: int) -> None:
        days = now / TICKS / _DAY
        note("", f"{completed:,} of {total:,} jobs complete, day {days:,.1f} of the trace")

    try:
        run = run_policy(
            policy,
            method=method,
            seed=seed,
            log=log,
            resume=resume,
            on_progress=on_progress,
            **chosen,
        )
    except KeyboardInterrupt:
        if log is not None:
            put_note(f"what was simulated is in {log}; go on with --resume")
        raise
    say(Stage.CHECKING, "the log")
    report = run.audit()
    outputs.write(run)
    rows = _answer(run, bounds) | {"violations": len(report.violations)}
    if as_json:
        put_json(rows)
    else:
        fields(rows)
    for violation in report.violations[:_SHOWN]:
        put_note(str(violation))
    raise typer.Exit(Exit.BROKEN if report.violations else Exit.OK)


def _profile_options(profiles: str | None, pairs: list[str]) -> dict[str, Any]:
    """Return the options of a set of profiles, of the types of their defaults."""
    if profiles is None:
        if pairs:
            raise OptionError("--profile-option belongs to --profiles; name the set of profiles")
        return {}
    return settings(pairs, profile_options(profiles), f"--profiles {profiles}")


def _answer(run: Simulation, bounds: bool) -> dict[str, Any]:
    labels = {"policy": run.meta["policy"], "method": run.meta["method"]}
    limits = {}
    for metric in ("mean_jct", "makespan") if bounds else ():
        say(Stage.SEARCHING, f"a bound on {metric}")
        limits[f"{metric}_bound"] = float(run.bound(metric).value)
    return labels | run.summary | limits
