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
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dlsched
from calls import FIG5, PATIENCE, refusal, run, suite_text
from dlsched.sweeps import local_crew, page_rows, report, run_suite
from dlsched.sweeps.report import write_report
from dlsched.sweeps.safe_csv import csv_bytes
from sweeps import stored

SUITE = suite_text(
    [
        FIG5,
        'generate = "reclaiming"; seeds = [1, 2]; grid = { servers = [5, 10, 20] }',
        'generate = "elastic"; grid = { jobs = [4, 6, 8] }',
    ],
    "exact",
    "lyra",
    'milp; problem = "elastic"',
    'mine_report:raises; problem = "reclaiming"',
    name="a <b>small</b> sweep",
    notes="Notes & more.",
    wall_limit=60,
)
OWN = "def raises(instance, rng):\n    raise ValueError('<i>no</i>')\n"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory, shared: type[Any]) -> Path:
    """Give the folder of a small sweep with its report."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "suite.toml").write_text(SUITE)
    (folder / "mine_report.py").write_text(OWN)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(local_crew, "WorkerProcess", shared)
        run_suite("suite.toml", "out")
    write_report(folder / "out")
    return folder / "out"


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
    rows = stored(out)
    table = pd.read_csv(out / "report" / "runs.csv")
    packed = pd.read_parquet(out / "report" / "runs.parquet")
    assert len(rows) == len(table) == len(packed) == 30
    assert list(table["key"]) == list(packed["key"]) == [row["key"] for row in rows]
    for row, line in zip(rows, table.to_dict("records"), strict=True):
        if row["objective"]:
            for level, value in json.loads(row["objective"]).items():
                assert line[level] == value
    assert (table[table["method"] == "exact"]["gap"] == 0).all()
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
    assert re.search(r'data-key="7">7<', failed)
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
    assert up == sorted(up) and len(up) == 23 and said["up"][-7:] == [""] * 7
    down = [float(s) for s in said["down"] if s]
    assert down == up[::-1] and said["down"][-7:] == [""] * 7
    sizes = [int(n) for n in re.findall(r"servers=(\d+)-", " ".join(said["names"]))]
    assert sizes == sorted(sizes) and len(sizes) == 18


def test_report_command(out: Path, tmp_path: Path) -> None:
    """The command writes the same files, byte for byte; a bad folder is an error in one line."""
    files = json.loads(run("report", out, "-o", tmp_path, "--json").stdout)
    assert str(tmp_path / "index.html") in files
    for file in map(Path, files):
        assert file.read_bytes() == (out / "report" / file.name).read_bytes(), file.name
    said = refusal("report", tmp_path)
    assert "results.sqlite: is not there; give the folder that dlsched bench wrote" in said


FORMULAS = ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\r\n=1", "=", "-", "--1"]
PLAIN = ["-1.5", "+3", "-1e-9", "a=b", "", "'=1", "x\n=1", "−1"]


def test_formulas_are_text_and_numbers_are_not() -> None:
    """What a spreadsheet would run has a ``'`` before it; other texts and numbers do not change."""
    frame = pd.DataFrame({"=name": FORMULAS + PLAIN})
    rows = list(csv.reader(io.StringIO(csv_bytes(frame).decode(), newline="")))
    assert rows[0] == ["'=name"]
    expected = [f"'{text}".replace("\r\n", "\n").replace("\r", "\n") for text in FORMULAS] + PLAIN
    assert [row[0] if row else "" for row in rows[1:]] == expected
    frame = pd.DataFrame({"a": [-1.5, None, 2], "b": [-3, 4, 5], "c": ["-1.5", "2", "-7e3"]})
    back = pd.read_csv(io.BytesIO(csv_bytes(frame)))
    pd.testing.assert_frame_equal(back, frame.astype({"c": float}))


def test_files_of_a_sweep(workdir: Path, shared_workers: None) -> None:
    """Neither an instance's name nor an exception's text gets into a CSV file as a formula."""
    made = dlsched.generate("reclaiming", servers=4).to_data()
    evil = '=HYPERLINK("http://nowhere")'
    Path("evil.json").write_text(json.dumps(made | {"name": evil}))
    Path("suite.toml").write_text(suite_text('files = "evil.json"', "lyra"))
    run_suite("suite.toml", "out")
    write_report("out")
    files = [Path("out/results.csv"), *Path("out/report").glob("*.csv")]
    assert len(files) == 5
    for file in files:
        rows = list(csv.reader(io.StringIO(file.read_text())))
        assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@"))]
        assert file.name not in ("results.csv", "runs.csv") or f"'{evil}" in rows[1]


def test_many_rows_are_packed(out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With more rows than the page has lines for, all are in it, packed in blocks."""
    monkeypatch.setattr(report, "MOST_ROWS", 5)
    monkeypatch.setattr(page_rows, "BLOCK", 12)
    for drawn in ("overviews", "pictures"):  # another test's
        monkeypatch.setattr(report, drawn, lambda *_: ())
    write_report(out, tmp_path)
    text = (tmp_path / "index.html").read_text()
    blocks = re.findall(r'class="block">([^<]*)</script>', text)
    rows = [row for b in blocks for row in json.loads(gzip.decompress(base64.b64decode(b)))]
    assert len(blocks) == 3 and len(rows) == len(stored(out)) == 30
    assert [row[0] for row in rows] == [row["instance"] for row in stored(out)]
    assert "<i>no</i>" not in text and not re.search(r"src=|href=.http", text.split('id="runs"')[1])


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
@pytest.mark.slow
def test_packed_rows_in_a_browser(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening the table makes its first lines; sorting and searching are over all rows."""
    monkeypatch.setattr(report, "MOST_ROWS", 5)
    monkeypatch.setattr(page_rows, "BLOCK", 12)
    monkeypatch.setattr(page_rows, "SHOWN", 10)
    write_report(out, tmp_path)
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
    assert said["before"] == 0 and said["lines"] == 10
    assert (said["first"], said["second"]) == ("1 to 10 of 30", "11 to 20 of 30")
    assert said["sizes"] == sorted(said["sizes"]) and said["sizes"][0] == 4
    assert said["found"] == "1 to 3 of 3"
