"""Simulations in the report of a sweep: a table and two pictures for each workload."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from dlsched.display.table import Row
from dlsched.errors import InstanceError
from dlsched.schema.files import JsonObject
from dlsched.simulation import Simulation
from dlsched.simulation.pictures.charts import draw_distribution, draw_over_time
from dlsched.sweeps.page_table import page_table
from dlsched.sweeps.plots import SIZE, Picture, embedded, svg
from dlsched.sweeps.simulation_rows import load_simulation, table_rows
from dlsched.sweeps.spread import curve_picture, curves, label_of, spread_picture, spread_rows
from dlsched.sweeps.store import Store
from dlsched.sweeps.workload_spec import BOUND


@dataclass(frozen=True)
class Section:
    """One workload in the report.

    Attributes
    ----------
    place
        Its name in links and file names.
    name
        Its name in tables.
    rows
        The rows of its table: `dlsched.sweeps.simulation_rows.table_rows`, or of several seeds
        `dlsched.sweeps.spread.spread_rows`.
    pictures
        Its pictures, each with its content as SVG.
    """

    place: str
    name: str
    rows: Sequence[Row]
    pictures: Sequence[tuple[Picture, bytes]] = field(repr=False)

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield names and contents of the pictures' files."""
        for picture, content in self.pictures:
            yield f"{self.place}-{picture.name}.svg", content

    def page(self) -> JsonObject:
        """Return what the report's page shows of it."""
        names = [name for name in (self.rows[0] if self.rows else ()) if self._tells(name)]
        return {
            "id": self.place,
            "name": self.name,
            "table": page_table(names, ([row[name] for name in names] for row in self.rows)),
            "pictures": [embedded(picture, content) for picture, content in self.pictures],
        }

    def _tells(self, name: str) -> bool:
        """Whether a column tells something: it is not empty, and seeds are not all the same."""
        values = {row[name] for row in self.rows}
        return values != {None} and (name != "seed" or len(values) > 1)


def sections(
    store: Store, rows: Sequence[Row], on_part: Callable[[str], None]
) -> Iterator[Section]:
    """Yield a section for each workload of a sweep, of several seeds one with their spread.

    Parameters
    ----------
    store
        Where the logs are.
    rows
        The rows of `dlsched.sweeps.simulation_rows.simulation_rows`.
    on_part
        Called with a name of what is made next.

    Raises
    ------
    InstanceError
        If a log is not there, or cannot be read.
    """
    families = dict.fromkeys(row.get("family") or row["instance"] for row in rows)
    for number, family in enumerate(families, start=1):
        on_part(f"the charts of {family}")
        members = [row for row in rows if (row.get("family") or row["instance"]) == family]
        simulated = [row for row in members if row["method"] != BOUND]
        if not simulated:  # bounds alone, or what failed before its family was known
            continue
        lines = table_rows(simulated)
        runs: dict[str, Simulation] = {}
        for row, line in zip(simulated, lines, strict=True):
            label = label_of(line)
            if row["solution_sha256"] and label not in runs:  # of several seeds the first
                runs[label] = _read(store, row)
        place = f"simulation-{number}"
        drawn = list(_pictures(runs)) if runs else []
        several = len({row["instance"] for row in simulated}) > 1
        if several:
            drawn.insert(0, spread_picture(members))
        table = spread_rows(members) if several else lines
        yield Section(place, family, table, [(picture, svg(picture, place)) for picture in drawn])
    drawn = [curve_picture(k, *curve) for k, curve in enumerate(curves(rows), start=1)]
    if drawn:
        pictures = [(picture, svg(picture, "grid")) for picture in drawn]
        yield Section("simulation-grid", "What the grids vary", (), pictures)


def _read(store: Store, row: Row) -> Simulation:
    try:
        return load_simulation(store.content(row))
    except (OSError, EOFError, ValueError) as error:
        file = store.log_file(row["solution_sha256"])
        what = f"cannot be read as a simulation's log ({error})"
        raise InstanceError(str(file), "", what, "remove the run, and run it again") from None


def _pictures(runs: dict[str, Simulation]) -> Iterator[Picture]:
    # (D) Several seeds of one policy would hide each other's curves.
    first = "Of several seeds of a policy the first is drawn."
    caption = f"Share of the jobs within each completion time. {first}"
    yield _picture("completion-times", caption, draw_distribution, runs, "jct")
    caption = f"Jobs that wait, over time. {first}"
    yield _picture("waiting-jobs", caption, draw_over_time, runs, "waiting")


def _picture(
    name: str, caption: str, draw: Callable[..., Any], runs: dict[str, Simulation], what: str
) -> Picture:
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    draw(runs.values(), what, figure.subplots(), names=list(runs))
    return Picture(name, caption, figure)
