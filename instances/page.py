"""The page of the instance library, docs/instances.md, from its index.

python instances/page.py
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dlsched import library, registry
from dlsched.registry import problem_names
from dlsched.results.objective import bound_from_data, gap, number_from_data
from dlsched.schema.files import write_bytes
from dlsched.text.figures import display, percent

PAGE = Path(__file__).resolve().parents[1] / "docs" / "instances.md"
KINDS = {
    "paper": "the papers' examples, and examples of ours for their statements",
    "small": "solved in an instant",
    "medium": "between small and production",
    "production": "of the papers' sizes; utility and placement: the largest proved",
    "trace": "a moment of a replayed job trace",
    "open": "hard: the gap is not closed",
}
MARKS = {"certified": "", "certified to nine digits": " (9)", "claimed": " \\*"}
HEAD = """# Instances

Written by `python instances/page.py` from `instances/index.json`. Every instance loads by its name,
`dlsched.load(name)`; its best known solution is beside it as `<name>.sol.json`, gzipped for all
but the small ones. All are under the MIT licence: nothing was copied from a recorded trace. Bounds
marked \\* are claimed by a solver; the others are certified, re-checked in exact arithmetic, those
marked (9) to nine digits.

Every solved instance has a proof in `instances/<problem>/proofs`, which `dlsched check-proof NAME`
checks [without a solver](proofs.md). Bounds of open instances marked (p) have one in
`instances/<problem>/bounds`, for `dlsched check-proof --bound NAME`.

Have you a better solution of an open instance? `dlsched verify NAME FILE` checks it without a
solver, and states the gap to the best known bound.
[CONTRIBUTING.md](../CONTRIBUTING.md#a-better-solution-of-a-library-instance) says where to send it.

| kind | what | instances |
|---|---|---|
"""


def lines() -> Iterator[str]:
    """Yield the page line by line."""
    entries = list(library.index().values())
    for kind, what in KINDS.items():
        yield f"| {kind} | {what} | {sum(e['kind'] == kind for e in entries)} |"
    for problem in problem_names():
        owner = registry.problem(problem)
        own = [e for e in entries if e["problem"] == problem]
        yield f"\n## {problem}\n"
        levels = ", ".join(f"{level.sense} {level.name} ({level.unit})" for level in owner.levels)
        yield f"{owner.title}. Levels: {levels}."
        open_ones = [e for e in own if e["kind"] == "open"]
        yield "\n### Open\n"
        if open_ones:
            yield "| name | best known | bound | gap | found by | credit | source |"
            yield "|---|---|---|---|---|---|---|"
            yield from map(_open_line, open_ones)
        else:
            yield "None is known: the exact method proves every size that was tried."
        yield "\n### Solved\n"
        yield "| name | kind | optimum | proved by | proof | credit | source |"
        yield "|---|---|---|---|---|---|---|"
        yield from (_solved_line(e) for e in own if e["kind"] != "open")


def _solved_line(entry: dict[str, Any]) -> str:
    return (
        f"| `{entry['name']}` | {entry['kind']} | {_values(entry)} | {entry['proof']['method']} "
        f"| {_certificate(entry)} | {_credit(entry)} | {_source(entry)} |"
    )


def _certificate(entry: dict[str, Any]) -> str:
    """Return how exactly the library's proof has the optimum, and the size of its trees."""
    if "certificate" not in entry:
        return ""
    found = entry["certificate"]
    exact = set(found["kinds"].values()) == {"certified"}
    leaves = "1 leaf" if found["leaves"] == 1 else f"{found['leaves']:,} leaves"
    return f"{'exact' if exact else 'nine digits'}, {leaves}"


def _open_line(entry: dict[str, Any]) -> str:
    owner = registry.problem(entry["problem"])
    values = owner.by_level([number_from_data(v) for v in entry["objective"].values()])
    bounds = owner.by_level([bound_from_data(b) for b in entry["bound"].values()])
    gaps = gap(values, bounds)
    first = next((i for i, g in enumerate(gaps) if g), 0)
    shown = ", ".join(_bound(b) for b in bounds)
    return (
        f"| `{entry['name']}` | {_values(entry)} | {shown} | {percent(gaps[first])} "
        f"| {entry['proof']['method']} | {_credit(entry)} | {_source(entry)} |"
    )


def _bound(bound: Any) -> str:
    if bound is None:
        return "-"
    proved = " (p)" if bound.method == "proof" else ""
    return display(bound.value) + MARKS[bound.kind] + proved


def _values(entry: dict[str, Any]) -> str:
    return ", ".join(display(number_from_data(v)) for v in entry["objective"].values())


def _credit(entry: dict[str, Any]) -> str:
    """Return who found the solution and when; solutions without credit are found by dlsched."""
    credit = entry.get("credit")
    if credit is None:
        return "dlsched"
    reference = credit.get("reference", "")
    by = _plain(credit["by"])
    if re.fullmatch(r"https?://[\w./:%~?=&#+-]+", reference):
        return f"[{by}]({reference}), {credit['date']}"
    return ", ".join(filter(None, (by, credit["date"], _plain(reference))))


def _plain(text: str) -> str:
    """Return a text that Markdown shows as it is, also in a table."""
    return re.sub(r"([^\w\s.,-])", r"\\\1", " ".join(text.split()))


def _source(entry: dict[str, Any]) -> str:
    source = str(entry["source"])
    return f"`{source}`" if "(" in source and ")" in source and "=" in source else source


def text() -> str:
    """Return the whole page."""
    return HEAD + "\n".join(lines()) + "\n"


def write() -> None:
    """Write the page."""
    write_bytes(PAGE, text().encode())


if __name__ == "__main__":
    write()
