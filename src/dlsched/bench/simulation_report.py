"""Simulations in the report of a sweep: a table and two pictures for each workload."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from dlsched.bench.page_table import page_table
from dlsched.bench.plots import SIZE, Picture, embedded, svg
from dlsched.bench.simulations import load_simulation, table_rows
from dlsched.bench.store import Store
from dlsched.display.table import Row
from dlsched.errors import InstanceError
from dlsched.schema.files import JsonObject
from dlsched.simulation import Simulation
from dlsched.simulation.pictures.charts import draw_distribution, draw_over_time

_LABELS = ("policy", "method", "options")


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
        The rows of its table, `dlsched.bench.simulations.table_rows`.
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
        names = [name for name in self.rows[0] if self._tells(name)]
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
    """Yield a section for each workload of a sweep.

    Parameters
    ----------
    store
        Where the logs are.
    rows
        The rows of `dlsched.bench.simulations.simulation_rows`.
    on_part
        Called with a name of what is made next.

    Raises
    ------
    InstanceError
        If a log is not there, or cannot be read.
    """
    for number, name in enumerate(dict.fromkeys(row["instance"] for row in rows), start=1):
        on_part(f"the charts of {name}")
        of_workload = [row for row in rows if row["instance"] == name]
        table = table_rows(of_workload)
        runs: dict[str, Simulation] = {}
        for row, line in zip(of_workload, table, strict=True):
            label = _label(line)
            if row["solution_sha256"] and label not in runs:  # of several seeds the first
                runs[label] = _read(store, row)
        place = f"simulation-{number}"
        drawn = _pictures(runs) if runs else ()
        yield Section(place, name, table, [(picture, svg(picture, place)) for picture in drawn])


def _label(line: Row) -> str:
    policy, method, options = (line[name] for name in _LABELS)
    inside = ", ".join(text for text in (method, options) if text)
    return f"{policy} ({inside})" if inside else str(policy)


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
