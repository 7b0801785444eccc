"""Figure pages: stored rows, shown as benchmarks/tables/<page>.toml says.

    python benchmarks/tables.py [page ...]

Writes benchmarks/figures/<page>.md from benchmarks/rows/<page>.parquet; `measure.py` makes rows. A
file of rows has a line for each value: its section, table, row and column, its numbers, and its
text if it is more than a number, with the stamp of its section.

A section of a page has tables, each with a heading and a text. Rows that are stored under a table's
number are shown as they are, others (`runs`, or those that `table` names) are arranged: rows with
the same `rows`, the columns that name a row, become one; `columns` says by header `of` which column
a statistic is, `where` over which rows, and how it is written. With `pivot`, a column of rows
becomes the headers. With `pairs`, lines are ratios of one row's means to another's, also by seed;
with `spread`, they are the mean and the range of columns. `kept`, of a page or a section, says why
its rows are not measured again.
"""

import re
import statistics
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

HERE = Path(__file__).resolve().parent
ROWS, SPECS, FIGURES = HERE / "rows", HERE / "tables", HERE / "figures"
STAMP = ["commit", "machine", "seconds", "modules", "digest"]
"""What each row has of the run that made it; modules are files, the digest is of what they say."""
STATISTICS: dict[str, Callable[[list[float]], float]] = {
    "mean": statistics.fmean, "median": statistics.median, "least": min, "most": max, "sum": sum,
    "share": lambda values: 100 * statistics.fmean(map(bool, values)), "count": len,
    "geometric": statistics.geometric_mean, "deviation": statistics.stdev,
    "only": lambda values: values[0],
}  # fmt: skip
SEVERAL = {"spread": "{0} ({1} to {2})", "range": "{1} to {2}", "mean, most": "{0}, {2}"}
"""Statistics of several numbers, by the mean, the least and the most."""
RATIO = {"ratio": "whole", "least": "least", "most": "most", "seeds above 1": "above"}
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d[\d,]*)(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE)


class Cell(NamedTuple):
    """A cell as it is shown, and its numbers, as precise as shown: one, or a mean and its range."""

    text: str
    numbers: list[float]


Row = dict[str, Cell]


class Table(NamedTuple):
    """A table of a page: its section's key, the heading and the text above it, its rows."""

    section: str
    heading: str
    text: str
    rows: list[Row]


def shown(value: float) -> str:
    """Return a number as a table has it by default: whole, or with three digits."""
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.3g}"


def cell(value: object) -> Cell:
    """Return the cell of a number or a text."""
    if isinstance(value, int | float):
        return Cell(shown(value), [float(value)])
    text = str(value)
    return Cell(text, [float(found.replace(",", "")) for found in _NUMBER.findall(text)])


@cache
def spec(page: str) -> dict[str, Any]:
    """Return what the file of a page says."""
    return tomllib.loads((SPECS / f"{page}.toml").read_text(encoding="utf-8"))


def kept(page: str, section: dict[str, Any]) -> str:
    """Return why a section's rows are not measured again; nothing if they are."""
    return str(section.get("kept", spec(page).get("kept", "")))


def names() -> list[str]:
    """Return the names of all pages."""
    return sorted(path.stem for path in SPECS.glob("*.toml"))


def stored(page: str) -> pd.DataFrame:
    """Return all values of a page, as they are stored."""
    file = ROWS / f"{page}.parquet"
    return pd.read_parquet(file) if file.exists() else pd.DataFrame({"section": []})


@cache
def measured(page: str) -> dict[str, dict[str, list[Row]]]:
    """Return the stored rows of a page by section and table."""
    found: dict[str, dict[str, list[Row]]] = {}
    frame = stored(page)
    if frame.empty:
        return found
    for (section, table), part in frame.groupby(["section", "table"], sort=False):
        rows: dict[int, Row] = {}
        columns = zip(part["row"], part["column"], part["text"], part["numbers"], strict=True)
        for row, column, text, numbers in columns:
            values = list(numbers)
            rows.setdefault(row, {})[column] = Cell(
                text if isinstance(text, str) else shown(values[0]), values
            )
        found.setdefault(section, {})[table] = list(rows.values())
    return found


@cache
def stamps(page: str) -> dict[str, dict[str, Any]]:
    """Return the stamp of each section of a page."""
    frame = stored(page)
    if frame.empty:
        return {}
    return frame.groupby("section", sort=False)[STAMP].first().to_dict("index")


@cache
def tables(page: str) -> list[Table]:
    """Return the tables of a page, in their order."""
    found, heading = [], ""
    for section in spec(page)["sections"]:
        rows = measured(page).get(section["name"], {})
        for name, part in parts_of(section):
            heading = part.get("heading", heading).lstrip("# ")
            if own := own_rows(rows, name, part):
                above = f"{part.get('heading', '').lstrip('# ')} {part.get('text', '')}"
                found.append(Table(section["name"], heading, above, own))
    return found


def shown_rows(page: str, section: str, name: str) -> list[Row]:
    """Return the rows of a table of a page, by its number in its section."""
    (says,) = (part for part in spec(page)["sections"] if part["name"] == section)
    (how,) = (part for number, part in parts_of(says) if number == name)
    return own_rows(measured(page)[section], name, how)


def parts_of(section: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tables of a section with their numbers; "-" is a text that has no table."""
    number = 0
    for part in section["tables"]:
        there = part.get("table") != "-"
        yield str(number) if there else "-", part
        number += there


def own_rows(rows: dict[str, list[Row]], number: str, how: dict[str, Any]) -> list[Row]:
    """Return the rows of a table: those stored under its number, or others arranged."""
    if number in rows:
        return rows[number]
    return [*arranged(rows.get(how.get("table", "runs"), []), how)]


def arranged(rows: list[Row], how: dict[str, Any]) -> Iterator[Row]:
    """Yield the rows of a table."""
    rows = _where(rows, how.get("where", {}))
    if not rows:
        return
    if "pivot" in how:
        yield from _pivoted(rows, how)
    elif "pairs" in how:
        yield from _ratios(rows, how)
    elif "spread" in how:
        yield from _spread(rows, how)
    elif "columns" not in how:
        yield from rows
    else:
        groups = _groups(rows, how["rows"])
        for group in [*groups, rows] if "total" in how else groups:
            line = {name: group[0][name] for name in how["rows"]}
            if group is rows:
                line = dict.fromkeys(how["rows"], cell("")) | {how["rows"][0]: cell(how["total"])}
            for header, says in how["columns"].items():
                line[header] = _statistic(group, {"of": header} | says, rows)
            yield line | _printed(how, line)


def _where(rows: list[Row], wanted: dict[str, list[str]]) -> list[Row]:
    """Return the rows whose columns have texts that are wanted."""
    for column, texts in wanted.items():
        rows = [row for row in rows if column in row and row[column].text in texts]
    return rows


def _values(rows: Iterable[Row], column: str) -> list[float]:
    return [row[column].numbers[0] for row in rows if column in row and row[column].numbers]


def _statistic(rows: list[Row], says: dict[str, Any], whole: list[Row] | None = None) -> Cell:
    """Return a statistic of a column; of a column without numbers its texts.

    `over` says what it is divided by: another column, other rows of the group or, with `all`, of
    the table; with `inverse` the other way round. With `by` it is one of the means by a column.
    """
    chosen = _where(rows, says.get("where", {}))
    values = _values(chosen, says["of"])
    name, form = says.get("statistic", "mean"), says.get("format", "")
    if not values or name == "text":
        texts = {row[says["of"]].text for row in chosen if says["of"] in row}
        return Cell(", ".join(sorted(texts)) or "-", [])
    values = [says.get("times", 1) * value + says.get("plus", 0) for value in values]
    if "by" in says:
        groups = _groups(chosen, [says["by"]])
        values = [statistics.fmean(_values(group, says["of"])) for group in groups]
    if name in SEVERAL:
        three = (statistics.fmean(values), min(values), max(values))
        return cell(SEVERAL[name].format(*(_written(value, form) for value in three)))
    if name == "part":  # a sum as a part of another column's
        sums = [sum(values), sum(_values(chosen, says["over"]["of"]))]
        share = 100 * sums[0] / sums[1] if sums[1] else float("nan")
        return cell(f"{share:.1f} % ({sums[0]:.0f} of {sums[1]:.0f})")
    if name == "how many":
        return cell(f"{sum(map(bool, values))} of {len(values)}")
    value = float(STATISTICS[name](values))
    if "over" in says:  # another column or other rows, in the denominator
        over = {"of": says["of"]} | says["over"]
        others = whole or rows if over.get("all") else rows
        value /= STATISTICS[name](_values(_where(others, over.get("where", {})), over["of"]))
        value = 1 / value if says.get("inverse") else value
        value = says.get("percent", 1) * (value - says.get("less", 0))
    return cell(_written(value, form))


def _written(value: float, form: str) -> str:
    return form.format(value) if "{" in form else format(value, form) if form else shown(value)


def _pivoted(rows: list[Row], how: dict[str, Any]) -> Iterator[Row]:
    """Yield a row for each value of the first column, with a column for each value of `pivot`."""
    lines: dict[str, Row] = {}
    first = next(iter(rows[0]))
    for row in rows:
        texts = {column: value.text for column, value in row.items()}
        line = lines.setdefault(texts[first], {first: row[first]})
        there = set(re.findall(r"{(\w+)", how["cell"])) <= set(texts)
        line[texts[how["pivot"]]] = cell(how["cell"].format(**texts) if there else "-")
    yield from lines.values()


def _ratios(rows: list[Row], how: dict[str, Any]) -> Iterator[Row]:
    """Yield by group, pair and column the ratio of the means, and statistics of that by seed.

    `by` has the values that `pairs` names, `heads` the headers of the first and second ("" for
    none), `of` columns by title, `show` statistics by header: "whole" is the ratio of the means.
    """
    heads, form = how.get("heads", ["first", "second"]), how.get("format", ".3f")
    show = how.get("show", RATIO)
    for group in _groups(rows, how.get("rows", [])):
        for first, second in how["pairs"]:
            parts = [_where(group, {how["by"]: [name]}) for name in (first, second)]
            named = zip(heads, (first, second), strict=True)
            line = {name: group[0][name] for name in how.get("rows", [])}
            line |= {head: cell(name) for head, name in named if head}
            for title, column in how["of"].items():
                above, below = (_values(part, column) for part in parts)
                if not above or not below:
                    continue
                each = [a / b for a, b in zip(above, below, strict=True) if b] or [0.0]
                whole = sum(above) / sum(below) if sum(below) else float("nan")
                values = {"whole": whole, "above": float(sum(value > 1 for value in each))}
                found = line | ({"time": cell(title)} if len(how["of"]) > 1 else {})
                for head, name in show.items():
                    value = values[name] if name in values else float(STATISTICS[name](each))
                    found[head] = cell(format(value, ".0f" if name == "above" else form))
                yield found | _printed(how, found)


def _groups(rows: list[Row], names: list[str]) -> list[list[Row]]:
    """Return rows by the texts of some columns, those that have them."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if all(name in row for name in names):
            groups.setdefault(tuple(row[name].text for name in names), []).append(row)
    return list(groups.values())


def _printed(how: dict[str, Any], line: Row) -> Row:
    """Return the columns of what a paper prints, which `printed` has by the texts of a row."""
    texts = [value.text for value in line.values()]
    keys = [" | ".join(texts[:n]) for n in (3, 2, 1)]
    return {
        head: cell(next((said[key] for key in keys if key in said), "-"))
        for head, said in how.get("printed", {}).items()
    }


def _spread(rows: list[Row], how: dict[str, Any]) -> Iterator[Row]:
    """Yield by row and column of `spread` the mean, the least and the most of the seeds."""
    by = how["rows"][0]
    for name in dict.fromkeys(row[by].text for row in rows):
        part = [row for row in rows if row[by].text == name]
        for title, says in how["spread"].items():
            line = {by: cell(name), "what": cell(title)}
            for column in ("mean", "least", "most"):
                line[column] = _statistic(part, {"of": title} | says | {"statistic": column})
            yield line


def markdown(rows: Sequence[Row]) -> str:
    """Return rows as a Markdown table."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    empty = Cell("-", [])
    lines += [f"| {' | '.join(row.get(c, empty).text for c in columns)} |" for row in rows]
    return "\n".join(lines)


def text_of(page: str) -> str:
    """Return the text of a page."""
    title = page.replace("_", " ").capitalize()
    command = f"`python benchmarks/measure.py {page}` measures again; times vary with the machine "
    parts = [f"# {title}: figures", spec(page).get("text", command + "and its load.").strip()]
    left = iter(tables(page))
    for section in spec(page)["sections"]:
        stamp = stamps(page).get(section["name"])
        if not stamp:
            continue
        parts.append(f"<!-- {section['name']} -->")
        for name, part in parts_of(section):
            parts += filter(None, (part.get("heading"), part.get("text", "").strip()))
            if own_rows(measured(page)[section["name"]], name, part):
                parts.append(markdown(next(left).rows))
        parts.append(" ".join(filter(None, (_said(stamp), kept(page, section)))))
    return "\n\n".join(parts) + "\n"


def _said(stamp: dict[str, Any]) -> str:
    taken = f" in {stamp['seconds']:,.0f} s" if stamp["seconds"] == stamp["seconds"] else ""
    code = f"the code of commit {stamp['commit']}" if stamp["commit"] else "code of no known commit"
    return f"Measured{taken} with {code}. Machine: {stamp['machine'] or 'not known'}"


def write(page: str) -> None:
    """Write a page from its stored rows."""
    for known in (measured, stamps, tables):
        known.cache_clear()
    (FIGURES / f"{page}.md").write_text(text_of(page), encoding="utf-8")


if __name__ == "__main__":
    for page in sys.argv[1:] or names():
        write(page)
