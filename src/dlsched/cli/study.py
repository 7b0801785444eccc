"""``dlsched study``: a scheduler's record against policies and certified bounds, as a page."""

import shlex
from functools import partial
from pathlib import Path
from typing import Any

from typer import Argument, Option

from dlsched.cli.exits import put_note
from dlsched.cli.options import Columns, Record, Seed, offered
from dlsched.cli.output import Answer, put_line, put_lines
from dlsched.cli.progress import note, say
from dlsched.cli.settings import settings
from dlsched.errors import OptionError, UnknownName
from dlsched.extras import require
from dlsched.run import Stage
from dlsched.schema.files import make_folder, validate_parent
from dlsched.simulation.history import read_history
from dlsched.simulation.policies import find_policy, policy_options
from dlsched.studies import study as run_study
from dlsched.studies.comparison import POLICIES, RAN
from dlsched.studies.page import study_data
from dlsched.studies.runs import Entry

COMMANDS = {
    "slurm": (
        "TZ=UTC SLURM_TIME_FORMAT=standard sacct -a -X -P -D -S 2026-01-01 -E now "
        "-o JobID,Cluster,User,Account,Partition,QOS,Priority,State,Submit,Eligible,Start,End,"
        "Elapsed,Suspended,Timelimit,NodeList,Constraints,ReqTRES,AllocTRES,JobName > sacct.txt"
    ),
    "nodes": 'sinfo -N -o "%N|%G|%P" > nodes.txt',
}
"""By scheduler: the command. The job's name is last, as a ``|`` in it is not escaped."""


RUNS = "runs"
"""The folder of the simulations' logs, in that of the study."""


def study(
    *,
    file: Path | None = Argument(None, metavar="FILE", help="What the scheduler recorded."),
    layout: str = Option(
        "auto", "--format", metavar="NAME", help="sacct, swf, kueue, csv, ...; auto: found out."
    ),
    columns: Columns,
    record: Record,
    policy: list[str] = Option(
        POLICIES, "--policy", "-p", help="As 'NAME K=V'.", autocompletion=offered("policies")
    ),
    ran: str | None = Option(
        None, metavar="'NAME K=V'", help="What the cluster runs; else backfill by priority."
    ),
    add_nodes: list[str] = Option([], metavar="N[:NODE]", help="What if; repeatable."),
    remove_nodes: list[str] = Option([], metavar="NODES", help="Names, or N[:NODE]; repeatable."),
    partition_of: list[str] = Option([], metavar="NODES=NAME", help="What if; repeatable."),
    delay: float = Option(
        0.0, metavar="S", min=0.0, help="Seconds before a job runs on its nodes."
    ),
    restart: float | None = Option(
        None, metavar="S", min=0.0, help="Seconds of a start after a preemption; allows these."
    ),
    preemption: bool | None = Option(
        None,
        "--preemption/--no-preemption",
        help="Whether policies stop running jobs; by default only with --restart.",
    ),
    bounds: bool = Option(
        True, "--bounds/--no-bounds", help="Certified bounds over all schedules."
    ),
    seed: Seed = 0,
    output: Path | None = Option(
        None, "--output", "-o", metavar="DIR", help="For study.html and all figures."
    ),
    command: str | None = Option(None, metavar="SCHEDULER", help="Print what to run there: slurm."),
) -> Answer:
    """Compare a cluster's record with what policies, and any schedule, would have done.

    A study that was ended goes on where it was if it is called again with the same folder.
    """
    if command is not None:
        if command not in COMMANDS:
            raise UnknownName("scheduler", command, COMMANDS)
        text = COMMANDS[command]
        return Answer({"command": text}, partial(put_line, text))
    if file is None:
        remedy = f"or --command {', '.join(COMMANDS)} to see how to make it"
        raise OptionError(f"name the file of the record, {remedy}")
    if output is not None:
        if output.exists() and not output.is_dir():
            raise OptionError(f"cannot write into {output}; it is a file: name a folder")
        validate_parent(output)
        for library in ("jinja2", "matplotlib"):
            require(library, "dlsched study")
    say(Stage.LOADING, str(file))
    history = read_history(file, layout, **columns.reading(), **record.reader_options())
    if output is not None:
        make_folder(output)
    knows: Any = record.knows or "limit"  # another word is an error that names them
    try:
        made = run_study(
            history,
            [_entry(text) for text in policy],
            ran=RAN if ran is None else _entry(ran),
            add_nodes=add_nodes,
            remove_nodes=remove_nodes,
            partition_of=partition_of,
            window=(record.since, record.until),
            partition=record.partition,
            delay=delay,
            restart=restart,
            preemption=preemption,
            knows=knows,
            bounds=bounds,
            seed=seed,
            folder=None if output is None else output / RUNS,
            on_progress=lambda what, done, total: note(
                "", f"{what}, {done:,} of {total:,} jobs" if done else what
            ),
        )
    except KeyboardInterrupt:
        if output is not None:
            put_note(f"what was simulated is in {output / RUNS}; the same command goes on with it")
        raise
    written = [] if output is None else made.save(output)

    def put() -> None:
        for warning in history.warnings:
            put_note(warning)
        put_lines((made.verdict.headline, *made.verdict.sentences))
        if len(made.nodes):
            put_lines(made.nodes.to_string(index=False).splitlines())
        for path in written[:1]:
            put_line(f"written: {path}, and {len(written) - 1} more files beside it")

    return Answer(study_data(made), put)


def _entry(text: str) -> Entry:
    """Return a policy with its options."""
    name, *pairs = shlex.split(text) or [""]
    whose = f"the policy {name}"
    return name, None, settings(pairs, policy_options(find_policy(name)), whose)
