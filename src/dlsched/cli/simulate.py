"""``dlsched simulate``: replay a trace onto a cluster, with a policy that decides."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from typer import Argument, Option

from dlsched.cli.exits import Exit, put_note
from dlsched.cli.options import Jobs, Machines, Reading, Record, Seed, offered
from dlsched.cli.output import Answer, fields
from dlsched.cli.progress import note, say
from dlsched.cli.reading import simulated
from dlsched.cli.settings import settings, target
from dlsched.display.drawing.files import FORMATS, picture_bytes
from dlsched.errors import OptionError
from dlsched.extras import require
from dlsched.run import Stage
from dlsched.schema.files import validate_target, write_bytes
from dlsched.simulation import Simulation, write_timeline
from dlsched.simulation.pictures.charts import draw_timeline
from dlsched.simulation.policies import find_policy, policy_options
from dlsched.simulation.swf import BEGIN, moment, write_swf
from dlsched.simulation.workload.clock import TICKS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DAY = 86400
_SHOWN = 5


@dataclass(frozen=True)
class Outputs:
    """Files to write besides the log."""

    swf: Path | None = Option(
        None, metavar="FILE", help="Write it in the Standard Workload Format."
    )
    timeline: Path | None = Option(
        None,
        metavar="FILE",
        help="Draw every GPU over time: .html, that can be zoomed, .svg, .pdf or .png.",
    )
    begin: str = Option(BEGIN, metavar="TIME", help="Time 0 in --swf, UTC.")

    def require_usable(self) -> None:
        """Refuse what cannot be written, before the simulation.

        `OptionError` is raised, naming the file or the time; `ExtraMissing` if the library of a
        picture is not installed.
        """
        moment(self.begin)
        if self.swf is not None:
            validate_target(self.swf)
        if self.timeline is not None:
            target(self.timeline, ".html", *(f".{form}" for form in FORMATS))
            if self.timeline.suffix == ".html":
                require("bokeh", "an interactive chart")
            else:
                require("matplotlib", "drawing")

    def write(self, run: Simulation) -> None:
        """Write the files; what a record cannot say of the simulation is noted on stderr."""
        if self.swf is not None:
            say(Stage.BUILDING, str(self.swf))
            for note in write_swf(run, self.swf, begin=self.begin):
                put_note(note)
        if self.timeline is not None:
            say(Stage.BUILDING, str(self.timeline))
            _draw(run, self.timeline)


def _draw(run: Simulation, path: Path) -> None:
    """Write the Gantt chart as a page, or as a picture."""
    if path.suffix == ".html":
        write_timeline(run, path)
        return
    mpl = require("matplotlib", "drawing")
    mpl.use("agg")
    axes = draw_timeline(run)
    write_bytes(path, picture_bytes(cast("Figure", axes.figure), path.suffix[1:], "white"))


def simulate(
    *,
    trace: str = Argument(
        metavar="TRACE",
        help="A job trace as it is published, or synthetic-1.",
        autocompletion=offered("traces", "files"),
    ),
    policy: str = Option(
        ...,
        "--policy",
        "-p",
        metavar="NAME",
        help="See: dlsched list policies.",
        autocompletion=offered("policies"),
    ),
    method: str | None = Option(
        None,
        "--method",
        "-m",
        metavar="METHOD",
        help="What solves the policy's problem; its own.",
        autocompletion=offered("methods"),
    ),
    setting: list[str] = Option([], "--set", metavar="K=V", help="An option of the policy."),
    seed: Seed = 0,
    layout: str = Option(
        "auto",
        "--format",
        metavar="NAME",
        help="Of a trace: philly, helios, ...; of a scheduler's record: sacct, swf, kueue or "
        "csv; auto finds it out.",
        autocompletion=offered("formats of traces", "formats of records"),
    ),
    log: Path | None = Option(None, metavar="FILE", help="SQLite file for the log."),
    resume: bool = Option(False, "--resume", help="Go on with the log."),
    bounds: bool = Option(False, "--bounds", help="Lower bounds over all policies, too."),
    machines: Machines,
    jobs: Jobs,
    reading: Reading,
    record: Record,
    outputs: Outputs,
) -> Answer:
    """Simulate a policy on a trace or a scheduler's record; its log is audited.

    Times are in seconds.
    """
    if resume and log is None:
        raise OptionError("--resume goes on with a log; name its file: --log FILE")
    chosen = settings(setting, policy_options(find_policy(policy)), f"the policy {policy}")
    outputs.require_usable()
    run_policy = simulated(trace, layout, machines, jobs, reading, record)
    try:
        run = run_policy(
            policy,
            method=method,
            seed=seed,
            log=log,
            resume=resume,
            on_progress=_show_progress,
            **chosen,
        )
    except KeyboardInterrupt:
        if log is not None:
            put_note(f"what was simulated is in {log}; go on with --resume")
        raise
    say(Stage.CHECKING, "the log")
    violations = run.audit().violations
    outputs.write(run)
    figures = _figures(run, bounds) | {"violations": len(violations)}
    for violation in violations[:_SHOWN]:
        put_note(str(violation))
    return Answer(figures, partial(fields, figures), Exit.BROKEN if violations else Exit.OK)


def _show_progress(now: float, completed: int, total: int) -> None:
    days = now / TICKS / _DAY
    note("", f"{completed:,} of {total:,} jobs complete, day {days:,.1f} of the trace")


def _figures(run: Simulation, bounds: bool) -> dict[str, Any]:
    labels = {"policy": run.meta["policy"], "method": run.meta["method"]}
    limits = {}
    for metric in ("mean_jct", "makespan") if bounds else ():
        say(Stage.SEARCHING, f"a bound on {metric}")
        limits[f"{metric}_bound"] = float(run.bound(metric).value)
    return labels | run.summary | limits
