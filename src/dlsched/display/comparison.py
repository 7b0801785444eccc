"""The table of `compare`: a data frame that knows its summary, paired tests, profile and LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from dlsched.display.charts import profile_figure, rows_of
from dlsched.display.drawing.style import styled
from dlsched.display.table import summary_words
from dlsched.extras import require
from dlsched.results import statistics
from dlsched.results.performance_profiles import CONFIDENCE
from dlsched.results.status import FAILED
from dlsched.text.figures import shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NEEDED = {"problem", "instance", "method", "status", "reason", "at_optimum"}
"""Columns without which a table, as a part of one, is shown as any data frame."""


class Table(pd.DataFrame):
    """A data frame that is printed with all its columns."""

    def __repr__(self) -> str:
        """Return all rows and columns as text."""
        return str(self.to_string(index=False, line_width=100, float_format="{:.4g}".format))


class Comparison(pd.DataFrame):
    """What `dlsched.compare` returns: a data frame with a row per run, printed as its summary.

    `dlsched.display.table.COLUMNS` has the columns. A part of it that lacks ``problem``,
    ``instance``, ``method``, ``status``, ``reason`` or ``at_optimum`` is printed as any data frame.
    """

    @property
    def _constructor(self) -> type[Comparison]:
        return Comparison

    @property
    def _is_whole(self) -> bool:
        return len(self) > 0 and _NEEDED.issubset(self.columns)

    def summary(self) -> Table:
        """Return a row per problem and method; see `dlsched.results.statistics.summary`."""
        return Table(statistics.summary(rows_of(self, "summary", "at_optimum")))

    def paired(self, method: str | None = None, other: str | None = None, of: str = "gap") -> Table:
        """Compare methods on the same instances; see `dlsched.results.statistics.paired`."""
        rows = rows_of(self, "paired", "at_optimum")
        return Table(statistics.paired(rows, method, other, of))

    @styled
    def profile(self) -> Figure:
        """Draw which share of a method's runs is within each gap, with intervals.

        A panel for each problem. ``dlsched.save(table.profile(style="paper"), "profile.pdf")``
        writes it for a paper.
        """
        return profile_figure(rows_of(self, "profile", "at_optimum"))

    def to_latex(self, buf: Any = None, **options: Any) -> Any:
        r"""Return the summary as a LaTeX table with the rules of booktabs, or write it to `buf`.

        Parameters
        ----------
        buf
            A path or a stream; ``None`` to get the text.
        **options
            Of pandas' ``Styler.to_latex``, as ``caption`` and ``label``. A part of a table is
            written as any data frame, with the options of ``DataFrame.to_latex``.
        """
        require("jinja2", "to_latex")
        if not self._is_whole:
            return super().to_latex(buf, **options)
        shown = self._in_words()
        texts = sum(name in ("problem", "method") for name in shown)
        columns = "l" * texts + "r" * (shown.shape[1] - texts)
        usual: dict[str, Any] = {"hrules": True, "column_format": columns}
        styler = shown.style.hide(axis="index").format(escape="latex")
        return styler.format_index(escape="latex", axis=1).to_latex(buf, **(usual | options))

    def to_csv(self, path_or_buf: Any = None, **options: Any) -> Any:
        """Write as pandas does; an index without a name is left out."""
        named = self.index.names != [None]
        return super().to_csv(path_or_buf, **({"index": named} | options))

    def to_data(self) -> dict[str, Any]:
        """Return plain JSON data; `dlsched.load_comparison` reads them from a file."""
        return {"comparison": rows_of(self, "to_data") if len(self) else []}

    def _in_words(self) -> pd.DataFrame:
        """Return the summary as texts, without columns that tell nothing."""
        lines = [summary_words(line) for line in statistics.summary(rows_of(self, "summary"))]
        table = pd.DataFrame(lines)
        several = table["problem"].nunique() > 1
        empty = [name for name in table if not table[name].str.len().any()]
        return table.drop(columns=[*empty, *(() if several else ("problem",))])

    def __repr__(self) -> str:
        """Return the summary as text."""
        if not self._is_whole:
            return super().__repr__()
        intervals = f"with mean and median gap their {100 * CONFIDENCE:g} % intervals"
        lines = [f"{len(self):,} runs; {intervals}", self._in_words().to_string(index=False)]
        failed = self[self["status"].isin(FAILED)].drop_duplicates(["problem", "method"])
        for row in failed.to_dict("records"):
            reason = shorten(row["reason"], 200)
            lines.append(f"{row['method']} on {row['instance']}: {row['status']}: {reason}")
        return "\n".join(lines)

    def _repr_html_(self) -> str | None:
        """Return the summary as a table."""
        if not self._is_whole:
            return super()._repr_html_()  # type: ignore[misc, no-any-return]
        return str(self._in_words().to_html(index=False, border=0))
