"""The rows of claims and objections, with the numbers of the stored rows in their texts.

In a text ``{name}`` is a cell as printed, ``{name:.2f}`` its number in that format, and
``{a / b:.1f}`` a number calculated from cells; a row's ``cells`` say where each name is. A cell
with several numbers, a mean and its range, is a list: ``{max(a):.1f}``, ``{last(a):.1f}``.
"""

import ast
import re
import statistics
import tomllib
from pathlib import Path
from typing import Any

from cells import cell, number

HERE = Path(__file__).resolve().parent
PAPERS = ("lyra", "muri", "hadar", "mast", "synergy", "sia")
VERDICTS = {
    "holds": "{} hold",
    "same direction, other inputs": "{} have the same direction on other inputs",
    "holds in part": "{} hold in part",
    "does not hold": "{} do not hold",
    "cannot be tested": "{} cannot be tested",
}
"""Verdicts, and what a sentence says of how many claims have one."""
FIELDS = (
    *("id", "section", "claim", "printed", "ours", "inputs", "parts"),
    *("text", "setting", "reading", "measured", "because", "command"),
)
"""First what the row has, at most 45 words; then its details, which stand in objections."""
READINGS = ("paper", "public code", "ours")
INPUTS = ("the paper's", "other")
GRADES = ("so", "same way", "otherwise", "open")
"""What was found of a statement; the page's head says when it is which."""

_PLACEHOLDER = re.compile(r"\{([^{}:]+)(?::([^{}]+))?\}")
_FUNCTIONS = {
    "min": min, "max": max, "sum": sum, "len": len, "abs": abs, "mean": statistics.fmean,
    "median": statistics.median, "last": lambda values: values[-1],
}  # fmt: skip
_EXPRESSION = (
    *(ast.Expression, ast.Call, ast.Name, ast.Load, ast.Constant, ast.BinOp, ast.UnaryOp),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.USub),
)


def paper(name: str) -> dict[str, Any]:
    """Return what the file of a paper says, texts as written."""
    return tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8"))


def verdict(claim: dict[str, Any]) -> str:
    """Return the verdict that follows from a claim's inputs and its statements' grades."""
    grades = set(claim["parts"].values())
    if grades == {"open"}:
        return "cannot be tested"
    if grades == {"so"}:
        return "holds"
    if claim["inputs"] == "other" and grades <= {"so", "same way"}:
        return "same direction, other inputs"
    return "holds in part" if grades & {"so", "same way"} else "does not hold"


def filled(text: str, row: dict[str, Any]) -> str:
    """Return a text of a row with the numbers of its cells.

    Raises
    ------
    LookupError
        If a name has no cell, or a cell is missing from its page.
    """
    places = row.get("cells", {})

    def replaced(match: re.Match[str]) -> str:
        expression, form = match.groups()
        if form is None and expression.strip() in places:
            printed = cell(*places[expression.strip()])
            if printed.text:
                return printed.text
        return format(_value(expression, places), form or "")

    return _PLACEHOLDER.sub(replaced, text)


def unfilled(text: str) -> str:
    """Return a text without its placeholders."""
    return _PLACEHOLDER.sub("", text)


def _value(expression: str, places: dict[str, list[str]]) -> float:
    tree = ast.parse(expression.strip(), mode="eval")
    for node in ast.walk(tree):
        if not isinstance(node, _EXPRESSION):
            raise LookupError(f"{{{expression}}}: only cells, numbers, + - * / and calls")
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - set(_FUNCTIONS)
    if missing := names - set(places):
        raise LookupError(f"{{{expression}}}: no cell named {', '.join(sorted(missing))}")
    found = {name: cell(*places[name]) for name in names}
    several = {name for name, c in found.items() if len(c.numbers) > 1 or not c.text}
    known = {n: c.numbers if n in several else number(c) for n, c in found.items()}
    code = compile(tree, "<claims>", "eval")
    return float(eval(code, {"__builtins__": {}}, _FUNCTIONS | known))
