"""The report: its files agree with the store, are safe, and work without a network."""

import csv
import html
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from shared_suites import ODD, RUNS

import dlsched
from calls import refusal, run
from dlsched.sweeps.report import write_report
from sweeps import edit, row, rows


@pytest.fixture
def out(finished_once: Path) -> Path:
    """Give the folder of the finished sweep with its report, which nobody changes."""
    return finished_once / "out"


def test_files(out: Path) -> None:
    """CSV and Parquet have every run with its levels and gaps; each picture is an SVG file."""
    stored = rows(out)
    table = pd.read_csv(out / "report" / "runs.csv")
    packed = pd.read_parquet(out / "report" / "runs.parquet")
    assert len(stored) == len(table) == len(packed) == RUNS
    assert list(table["key"]) == list(packed["key"]) == [kept["key"] for kept in stored]
    for kept, line in zip(stored, table.to_dict("records"), strict=True):
        for level, value in json.loads(kept["objective"] or "{}").items():
            assert line[level] == value
    assert (table[table["status"] == "optimal"]["gap"] == 0).all()
    for picture in (out / "report").glob("*.svg"):
        assert picture.read_text().startswith("<?xml")
    names = {picture.name for picture in (out / "report").glob("*.svg")}
    assert names >= {"elastic-proofs.svg", "reclaiming-gaps.svg", "reclaiming-time-by-size.svg"}


def test_page(out: Path) -> None:
    """Everything that the page shows is in it, and what users wrote is text, not markup.

    Failed runs of one kind are one line; the summary has columns for endings that runs had.
    """
    text = (out / "report" / "index.html").read_text()
    page, runs = text.split('id="runs"')
    links = re.findall(r'<[^>]*\s(?:src|href)="([^"]*)"', page)
    assert all(link.startswith(("#", "data:image/svg+xml;base64,")) for link in links)
    assert "<link" not in text and "<script" not in page and page.count("<img") >= 5
    assert not re.search(r"@import|url\(", page) and not re.search(r'src="?http', runs)
    assert "<b>small</b>" not in text and "<i>no</i>" not in text
    failed = page[page.index('id="failures"') :]
    assert "ValueError: &lt;i&gt;no&lt;/i&gt;" in failed and "<td>8</td>" in failed
    summary = page[page.index('id="reclaiming-summary"') : page.index("<h3>")]
    assert ">feasible<" in summary and ">failed<" in summary
    assert ">bound only<" not in summary and ">at a limit<" not in summary


def test_methods_in_pairs(out: Path) -> None:
    """Each problem's methods are compared two at a time, on the page and in a file."""
    pairs = pd.read_csv(out / "report" / "paired.csv")
    assert (pairs["better"] + pairs["equal"] + pairs["worse"] == pairs["pairs"]).all()
    assert (pairs["p_holm"] >= pairs["p"]).all()
    assert 'id="reclaiming-paired"' in (out / "report" / "index.html").read_text()


def test_all_runs_are_in_the_page(out: Path) -> None:
    """The table that a browser makes has a line for each run, as a JSON text."""
    text = (out / "report" / "index.html").read_text().split('id="runs"')[1]
    (data,) = re.findall(r'"data_json": ("(?:[^"\\]|\\.)*")', text)
    lines = json.loads(json.loads(data))
    assert len(lines) == RUNS and [line[0] for line in lines] == [
        html.escape(kept["instance"], quote=False) for kept in rows(out)
    ]


def test_where_nothing_can_be_written(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that the report cannot be written to is one error that names it."""

    def refuse(*given: Any, **named: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)  # root may write anywhere
    with pytest.raises(dlsched.InstanceError, match=r"page: cannot be written \(permission denied"):
        write_report("out", "page")


@pytest.mark.slow
def test_report_command(out: Path, tmp_path: Path) -> None:
    """The command writes the same files, byte for byte; a bad folder is an error in one line."""
    files = json.loads(run("report", out, "-o", tmp_path, "--json").stdout)
    assert str(tmp_path / "index.html") in files
    for file in map(Path, files):
        assert file.read_bytes() == (out / "report" / file.name).read_bytes(), file.name
    said = refusal("report", tmp_path)
    assert "results.sqlite: is not there; give the folder that dlsched bench wrote" in said


FORMULAS = ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\r\n=1", "=", "-", "--1"]
NUMBER = re.compile(r"[-+]?[\d.]+(e[-+]?\d+)?")
PLAIN = ["-1.5", "+3", "-1e-9", "a=b", "x\n=1", "−1"]


def test_texts_of_others(finished: Path) -> None:
    """What a spreadsheet would run has a ``'`` before it; other texts and numbers do not change.

    Neither an instance's name nor an exception's text gets into a CSV file as a formula. A claim
    that a checked solution refutes is on the page, with who made it.
    """
    texts = FORMULAS + PLAIN
    for kept, text in zip(rows(), texts, strict=False):
        edit("out", kept["key"], machine=text)
    false = dlsched.solve("lyra-fig5", "random", seed=7)
    poor = false.bound.map(lambda _: dlsched.Bound(10**6, "claimed", "boasting"))
    claim: dict[str, Any] = {"status": dlsched.Status.OPTIMAL, "bound": poor}
    record = replace(false, **claim).to_data()
    del record["solution"]
    key = row(instance="lyra-fig5", method="random", seed=7)["key"]
    edit("out", key, record=json.dumps(record), status="optimal")
    write_report("out")
    page = Path("out/report/index.html").read_text()
    assert "random says that no solution" in page and "boasting" in page
    files = [Path("out/results.csv"), *Path("out/report").glob("*.csv")]
    assert len(files) >= 5
    for file in files:
        lines = list(csv.reader(io.StringIO(file.read_bytes().decode(), newline="")))
        cells = [cell for line in lines for cell in line if not NUMBER.fullmatch(cell)]
        assert not [cell for cell in cells if cell.lstrip().startswith(("=", "+", "-", "@"))]
    text = Path("out/report/runs.csv").read_text()
    runs = list(csv.DictReader(io.StringIO(text, newline="")))
    escaped = [f"'{text}".replace("\r\n", "\n").replace("\r", "\n") for text in FORMULAS]
    assert [line["machine"] for line in runs[: len(texts)]] == escaped + PLAIN
    assert "'" + ODD.replace("\0", "") in {line["instance"].replace("\0", "") for line in runs}
