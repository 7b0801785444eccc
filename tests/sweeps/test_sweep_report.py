"""The report: its files agree with the store, are safe, and work without a network."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

import dlsched
from calls import PATIENCE, refusal, run
from conftest import ODD, RUNS
from dlsched.sweeps.report import write_report
from sweeps import copied, edit, multiply, row, rows

ERRORS = 8 + 5
"""Runs of the finished sweep without an answer."""
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture
def out(finished_once: Path) -> Path:
    """Give the folder of the finished sweep with its report, which nobody changes."""
    return finished_once / "out"


class Page(HTMLParser):
    """What a page refers to, and its elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note tags and references."""
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]


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


def test_page_needs_no_network(out: Path) -> None:
    """Everything that the page shows is in it, and what users wrote is text, not markup."""
    text = (out / "report" / "index.html").read_text()
    page = Page(text)
    assert all(link.startswith(("#", "data:image/svg+xml;base64,")) for link in page.links)
    assert "link" not in page.tags and page.tags.count("script") == 1
    assert not re.search(r"@import|url\(", text)
    assert "<b>small</b>" not in text and "<i>no</i>" not in text
    assert page.tags.count("img") >= 5


def test_failures_are_shown_by_reason(out: Path) -> None:
    """Failed runs of one kind are one line; the summary has columns for endings that runs had."""
    text = (out / "report" / "index.html").read_text()
    failed = text[text.index('id="failures"') : text.index('id="all-runs"')]
    assert "ValueError: &lt;i&gt;no&lt;/i&gt;" in failed
    assert re.search(r'data-key="8">8<', failed)
    summary = text[text.index('id="reclaiming-summary"') : text.index("<h3>")]
    assert ">feasible<" in summary and ">failed<" in summary
    assert ">bound only<" not in summary and ">at a limit<" not in summary


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
def test_tables_sort_in_a_browser(out: Path, tmp_path: Path) -> None:
    """Clicking a heading sorts by value, empty cells last; clicking again turns it round."""
    text = (out / "report" / "index.html").read_text()
    script = """
    const table = document.querySelector("#all-runs");
    const heads = [...table.querySelectorAll("th")];
    const column = name => heads.findIndex(th => th.textContent.trim() === name);
    const read = name => [...table.tBodies[0].rows].map(r => r.cells[column(name)].dataset.key);
    const click = name => heads[column(name)].querySelector("button").click();
    const said = {};
    click("seconds"); said.up = read("seconds");
    click("seconds"); said.down = read("seconds");
    click("instance"); said.names = read("instance");
    const out = document.createElement("pre"); out.id = "said";
    out.textContent = JSON.stringify(said); document.body.append(out);
    """
    page = tmp_path / "page.html"
    page.write_text(text.replace("</body>", f"<script>{script}</script></body>"))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    flags += [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=5000"]
    command = [str(CHROMIUM), *flags, "--dump-dom", page.as_uri()]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    said = json.loads(re.search(r'<pre id="said">(.*?)</pre>', ran.stdout)[1])  # type: ignore[index]
    up = [float(s) for s in said["up"] if s]
    assert up == sorted(up) and said["up"][-ERRORS:] == [""] * ERRORS == said["down"][-ERRORS:]
    down = [float(s) for s in said["down"] if s]
    assert down == up[::-1] and len(up) == RUNS - ERRORS
    sizes = [int(n) for n in re.findall(r"servers=(\d+)-", " ".join(said["names"]))]
    assert sizes == sorted(sizes) and len(sizes) == 6 * 5


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
    record = replace(false, status=dlsched.Status.OPTIMAL, bound=poor).to_data()
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
    lines = list(csv.DictReader(io.StringIO(Path("out/report/runs.csv").read_text(), newline="")))
    escaped = [f"'{text}".replace("\r\n", "\n").replace("\r", "\n") for text in FORMULAS]
    assert [line["machine"] for line in lines[: len(texts)]] == escaped + PLAIN
    assert "'" + ODD.replace("\0", "") in {line["instance"].replace("\0", "") for line in lines}


@pytest.mark.slow
def test_many_rows_are_packed(finished: Path) -> None:
    """With more rows than the page has lines for, all are in it, packed in blocks."""
    multiply("out", 100)
    write_report("out", "many")
    text = Path("many/index.html").read_text()
    blocks = re.findall(r'class="block">([^<]*)</script>', text)
    packed = [line for b in blocks for line in json.loads(gzip.decompress(base64.b64decode(b)))]
    assert [line[0] for line in packed] == [kept["instance"] for kept in rows()]
    assert len(packed) == 100 * RUNS and len(blocks) > 1
    assert "<i>no</i>" not in text and not re.search(r"src=|href=.http", text.split('id="runs"')[1])


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
@pytest.mark.slow
def test_packed_rows_in_a_browser(out: Path, tmp_path: Path) -> None:
    """Opening the table makes its first lines; sorting and searching are over all rows."""
    many = copied(out, tmp_path / "many")
    multiply(many, 100)
    write_report(many, tmp_path)
    script = """<script>
    const wait = () => new Promise(done => setTimeout(done, 300)), said = {};
    const body = () => document.getElementById("all-runs").tBodies[0];
    const place = () => document.querySelector(".pager .place").textContent;
    (async () => {
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
      document.body.textContent = JSON.stringify(said);
    })();
    </script></body>"""
    page = tmp_path / "page.html"
    page.write_text((tmp_path / "index.html").read_text().replace("</body>", script))
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += ["--virtual-time-budget=20000", page.as_uri()]
    shown = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, check=True
    ).stdout
    said = json.loads(re.search(r"<body[^>]*>(\{.*\})", shown)[1])  # type: ignore[index]
    assert said["before"] == 0 and said["lines"] == 200
    assert said["first"] == f"1 to 200 of {100 * RUNS:,}"
    assert said["second"] == f"201 to 400 of {100 * RUNS:,}"
    assert said["sizes"] == sorted(said["sizes"]) and said["sizes"][0] == 4
    assert said["found"] == "1 to 200 of 500"
