"""``dlsched study``: a scheduler's record against policies and certified bounds, as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dlsched.cli import flags
from dlsched.cli.exits import put_note
from dlsched.cli.flags import Json
from dlsched.cli.output import put_json, put_line
from dlsched.cli.progress import note, say
from dlsched.errors import OptionError, UnknownName
from dlsched.extras import require
from dlsched.records import read_history
from dlsched.run import Stage
from dlsched.schema.files import make_folder, validate_parent
from dlsched.studies import study as run_study
from dlsched.studies.comparison import POLICIES
from dlsched.studies.files import study_data

COMMANDS = {
    "slurm": (
        "TZ=UTC SLURM_TIME_FORMAT=standard sacct -a -X -P -D -S 2026-01-01 -E now "
        "-o JobID,User,Account,Partition,State,Submit,Eligible,Start,End,Elapsed,Timelimit,"
        "NodeList,ReqTRES,AllocTRES,JobName > sacct.txt"
    ),
    "nodes": 'sinfo -N -o "%N|%G|%P" > nodes.txt',
}
"""By scheduler: the command. The job's name is last, as a ``|`` in it is not escaped."""


def command_of(scheduler: str) -> str:
    """Return the command of a scheduler, or for its nodes.

    Raises
    ------
    UnknownName
        If none is known.
    """
    if scheduler not in COMMANDS:
        raise UnknownName("scheduler", scheduler, COMMANDS)
    return COMMANDS[scheduler]


RUNS = "runs"
"""The folder of the simulations' logs, in that of the study."""


def study(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="What the scheduler recorded.")
    ] = None,
    layout: Annotated[
        str,
        typer.Option("--format", metavar="NAME", help="sacct, swf, kueue, csv; auto: found out."),
    ] = "auto",
    timezone: Annotated[
        str | None,
        typer.Option("--timezone", metavar="ZONE", help="Of times without one, as Europe/Berlin."),
    ] = None,
    resource: Annotated[
        str,
        typer.Option("--resource", metavar="R", help="What jobs are counted in: gpu, cpu, node."),
    ] = "gpu",
    nodes: Annotated[
        Path | None,
        typer.Option(
            "--nodes", metavar="FILE", help="The nodes, by CSV or `sinfo -N`; else the peak."
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="NAMES",
            help="Without a header: jobid,state,... in order; of CSV: submit=qtime,start=...",
        ),
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option("--delimiter", metavar="C", help="Between columns.")
    ] = None,
    partition: Annotated[
        str | None, typer.Option("--partition", metavar="NAME", help="Only its jobs and nodes.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="DAY", help="The window's start: 2026-01-08.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="DAY", help="The window's end.")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="NAME",
            help=f"Repeatable; {', '.join(POLICIES)} by default.",
            autocompletion=flags.offered("policies"),
        ),
    ] = None,
    knows: Annotated[
        str,
        typer.Option("--knows", metavar="WHAT", help="Of durations: limit, truth or user_mean."),
    ] = "limit",
    delay: Annotated[
        float,
        typer.Option(
            "--delay", metavar="S", min=0.0, help="Seconds before a job runs on its nodes."
        ),
    ] = 0.0,
    bounds: Annotated[
        bool, typer.Option("--bounds/--no-bounds", help="Certified bounds over all schedules.")
    ] = True,
    seed: flags.Seed = 0,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="For study.html and all figures."),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option("--command", metavar="SCHEDULER", help="Print what to run there: slurm."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare a cluster's record with what policies, and any schedule, would have done.

    A study that was ended goes on where it was if it is called again with the same folder.
    """
    if command is not None:
        put_line(command_of(command))
        return
    if file is None:
        known = ", ".join(COMMANDS)
        raise OptionError(
            f"name the file of the record, or --command {known} to see how to make it"
        )
    if output is not None:
        if output.exists() and not output.is_dir():
            raise OptionError(f"cannot write into {output}; it is a file: name a folder")
        validate_parent(output)
        for library in ("jinja2", "matplotlib"):
            require(library, "dlsched study")
    say(Stage.LOADING, str(file))
    history = read_history(
        file,
        layout,
        timezone=timezone,
        resource=resource,
        nodes=nodes,
        columns=_columns(columns),
        delimiter=delimiter,
    )

    def on_progress(what: str, done: int, total: int) -> None:
        note("", f"{what}, {done:,} of {total:,} jobs" if done else what)

    if output is not None:
        make_folder(output)
    try:
        made = run_study(
            history,
            policy or POLICIES,
            window=(since, until),
            partition=partition,
            delay=delay,
            knows=knows,  # type: ignore[arg-type]  # another word is an error that names them
            bounds=bounds,
            seed=seed,
            folder=None if output is None else output / RUNS,
            on_progress=on_progress,
        )
    except KeyboardInterrupt:
        if output is not None:
            put_note(f"what was simulated is in {output / RUNS}; the same command goes on with it")
        raise
    written = [] if output is None else made.save(output)
    if as_json:
        put_json(study_data(made))
        return
    for warning in history.warnings:
        put_note(warning)
    put_line(made.verdict.headline)
    for sentence in made.verdict.sentences:
        put_line(sentence)
    for path in written[:1]:
        put_line(f"written: {path}, and {len(written) - 1} more files beside it")


def _columns(text: str | None) -> Any:
    """Return names in order, or which column holds which field."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not any("=" in part for part in parts):
        return parts
    named = [part.partition("=") for part in parts]
    lacking = [field for field, equals, _ in named if not equals]
    if lacking:
        raise OptionError(f"--columns: {lacking[0]!r} names no column; write FIELD=COLUMN")
    return {field: column for field, _, column in named}
