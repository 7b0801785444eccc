"""A plain loop over a suite; what is finished is on disk before the next run begins."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlsched import __version__, api
from dlsched.bench.methods import find_method
from dlsched.bench.suite import Suite, read_suite
from dlsched.files import write_bytes
from dlsched.records import result_to_data
from dlsched.result import Result
from dlsched.table import Failure, comparison_rows

if TYPE_CHECKING:
    import pandas


def run_suite(
    suite: Suite | str | Path,
    out: str | Path,
    on_answer: Callable[[Result | Failure], None] | None = None,
) -> pandas.DataFrame:
    """Run every method of a suite on every instance.

    Parameters
    ----------
    suite
        A suite, or its file.
    out
        Folder for ``results.csv`` (rows as `dlsched.compare` returns them, with ``seed``,
        ``options`` and ``solution_file``), ``results.json`` (one record per run) and
        ``solutions/``. An interrupted suite leaves what it had finished.
    on_answer
        Called with each result or failure as soon as it is written.

    Returns
    -------
    pandas.DataFrame
        The rows of ``results.csv``.

    Raises
    ------
    InstanceError
        If the suite cannot be used.
    KeyboardInterrupt
        If a run was interrupted; that run is not kept.
    """
    chosen = suite if isinstance(suite, Suite) else read_suite(suite)
    book = _Book(chosen, Path(out))
    for case in chosen.cases:
        instance = case.make()
        book.begin_instance()
        for choice in chosen.choices(instance.problem):
            method = find_method(instance.problem, choice.name)
            for seed in choice.seeds:
                answer = api.attempt(instance, method, seed=seed, **chosen.limits, **choice.options)
                if answer.reason.startswith("interrupted"):
                    raise KeyboardInterrupt
                book.add(answer, seed, choice.options)
                if on_answer:
                    on_answer(answer)
    return book.frame()


class _Book:
    """The answers so far, in memory and on disk."""

    def __init__(self, suite: Suite, out: Path) -> None:
        self.suite, self.out = suite, out
        self.rows: list[dict[str, Any]] = []
        self.group: list[Result | Failure] = []
        self.extras: list[dict[str, Any]] = []
        self.records: list[str] = []
        self.write()

    def begin_instance(self) -> None:
        """Close the group of runs whose gaps are to one bound, and open the next."""
        self.rows += self.group_rows()
        self.group, self.extras = [], []

    def add(self, answer: Result | Failure, seed: int, options: dict[str, Any]) -> None:
        """Keep an answer, and its solution beside it."""
        file = None
        if isinstance(answer, Result):
            record = result_to_data(answer)
            if answer.solution is not None:
                stem = _slug(f"{len(self.records) + 1:05}-{answer.instance}-{answer.method}")
                file = f"solutions/{stem}.json.gz"
                api.save(answer.solution, self.out / file)
            del record["solution"]
        else:
            record = {
                "problem": answer.problem,
                "instance": answer.instance,
                "method": answer.method,
                "status": "error",
                "reason": answer.reason,
                "seed": seed,
                "options": options,
            }
        self.records.append(json.dumps(record | {"solution_file": file}, allow_nan=False))
        self.group.append(answer)
        self.extras.append(
            {"seed": seed, "options": json.dumps(options, default=str), "solution_file": file}
        )
        self.write()

    def group_rows(self) -> list[dict[str, Any]]:
        """Return the rows of the instance at hand."""
        rows = comparison_rows(self.group)
        return [row | extra for row, extra in zip(rows, self.extras, strict=True)]

    def frame(self) -> pandas.DataFrame:
        """Return all rows."""
        import pandas as pd

        return pd.DataFrame(self.rows + self.group_rows())

    def write(self) -> None:
        """Replace both files, each in one step."""
        runs = ",\n".join(self.records)
        head = f'"suite": {json.dumps(self.suite.name)}, "dlsched": {json.dumps(__version__)}'
        write_bytes(self.out / "results.json", f'{{{head}, "runs": [\n{runs}\n]}}\n'.encode())
        write_bytes(self.out / "results.csv", self.frame().to_csv(index=False).encode())


def _slug(text: str) -> str:
    """Return a file name that no id can turn into a path."""
    return re.sub(r"[^A-Za-z0-9.=_-]+", "_", text)[:100]
