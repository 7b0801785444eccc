"""The report: its files agree with the store, are safe, and work without a network."""

import base64
import csv
import gzip
import io
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from shared_suites import ODD, RUNS

import dlsched
from calls import PATIENCE, refusal, run
from dlsched.sweeps.report import write_report
from sweeps import edit, multiply, row, rows

ERRORS = 8 + 5
"""Runs of the finished sweep without an answer."""


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
    links = re.findall(r'<[^>]*\s(?:src|href)="([^"]*)"', text)
    assert all(link.startswith(("#", "data:image/svg+xml;base64,")) for link in links)
    assert "<link" not in text and text.count("<script") == 1 and text.count("<img") >= 5
    assert not re.search(r"@import|url\(", text)
    assert "<b>small</b>" not in text and "<i>no</i>" not in text
    failed = text[text.index('id="failures"') : text.index('id="all-runs"')]
    assert "ValueError: &lt;i&gt;no&lt;/i&gt;" in failed and 'data-key="8">8<' in failed
    summary = text[text.index('id="reclaiming-summary"') : text.index("<h3>")]
    assert ">feasible<" in summary and ">failed<" in summary
    assert ">bound only<" not in summary and ">at a limit<" not in summary


def shown(text: str, script: str, folder: Path) -> Any:
    """Return what a script on a page puts into `said`, in a browser."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no Chromium here")
    script = "const said = {}; (async () => {" + script + "})().then(() => {" + END + "});"
    page = folder / "page.html"
    page.write_text(text.replace("</body>", f"<script>{script}</script></body>"))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    flags += [f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=20000"]
    command = [chromium, *flags, "--dump-dom", page.as_uri()]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    found = re.search(r'<pre id="said">(.*?)</pre>', ran.stdout)
    assert found
    return json.loads(found[1])


END = """
const out = document.createElement("pre"); out.id = "said";
out.textContent = JSON.stringify(said); document.body.append(out);
"""
SORT = """
const table = document.querySelector("#all-runs");
const heads = [...table.querySelectorAll("th")];
const column = name => heads.findIndex(th => th.textContent.trim() === name);
const read = name => [...table.tBodies[0].rows].map(r => r.cells[column(name)].dataset.key);
const click = name => heads[column(name)].querySelector("button").click();
click("seconds"); said.up = read("seconds");
click("seconds"); said.down = read("seconds");
click("instance"); said.names = read("instance");
"""
SEARCH = """
const wait = () => new Promise(done => setTimeout(done, 300));
const body = () => document.getElementById("all-runs").tBodies[0];
const place = () => document.querySelector(".pager .place").textContent;
said.before = body().rows.length;
document.querySelector("#runs details").open = true; await wait();
said.first = place(); said.lines = body().rows.length;
document.querySelector(".pager .after").click(); await wait(); said.second = place();
const heads = [...document.querySelectorAll("#all-runs th")];
const size = heads.findIndex(head => head.textContent === "size");
heads[size].querySelector("button").click(); await wait();
said.sizes = [...body().rows].map(row => +row.cells[size].dataset.key);
const search = document.querySelector(".pager input");
search.value = "lyra-fig5"; search.dispatchEvent(new Event("change")); await wait();
said.found = place();
"""


def test_tables_sort_in_a_browser(out: Path, tmp_path: Path) -> None:
    """Clicking a heading sorts by value, empty cells last; clicking again turns it round."""
    said = shown((out / "report" / "index.html").read_text(), SORT, tmp_path)
    up, down = ([float(s) for s in said[way] if s] for way in ("up", "down"))
    assert up == sorted(up) == down[::-1] and len(up) == RUNS - ERRORS
    assert said["up"][-ERRORS:] == [""] * ERRORS == said["down"][-ERRORS:]
    sizes = [int(n) for n in re.findall(r"servers=(\d+)-", " ".join(said["names"]))]
    assert sizes == sorted(sizes) and len(sizes) == 6 * 5


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


@pytest.mark.slow
def test_many_rows_are_packed(finished: Path) -> None:
    """With more rows than the page has lines for, all are in it, packed in blocks.

    Opening the table makes its first lines; sorting and searching are over all rows.
    """
    multiply("out", 100)
    write_report("out", "many")
    text = Path("many/index.html").read_text()
    blocks = re.findall(r'class="block">([^<]*)</script>', text)
    packed = [line for b in blocks for line in json.loads(gzip.decompress(base64.b64decode(b)))]
    assert [line[0] for line in packed] == [kept["instance"] for kept in rows()]
    assert len(packed) == 100 * RUNS and len(blocks) > 1
    assert "<i>no</i>" not in text and not re.search(r"src=|href=.http", text.split('id="runs"')[1])
    said = shown(text, SEARCH, finished)
    assert said["before"] == 0 and said["lines"] == 200
    places = [f"{first} to {first + 199} of {100 * RUNS:,}" for first in (1, 201)]
    assert [said["first"], said["second"], said["found"]] == [*places, "1 to 200 of 500"]
    assert said["sizes"] == sorted(said["sizes"]) and said["sizes"][0] == 4
