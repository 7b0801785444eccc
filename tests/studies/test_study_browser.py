"""study.html in a real browser: headless Chromium, as wide as a phone and as a desk."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from study_cases import record

import dlsched
from calls import PATIENCE
from dlsched.simulation import Cluster, Workload, simulate, write_timeline

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
ABSENT = "Chromium is not installed here: apt-get install chromium"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason=ABSENT)]
FRAME = """<!doctype html><body style="margin:0">
<iframe id="page" src="study.html" style="border:0;width:{width}px;height:844px"></iframe><script>
document.getElementById("page").onload = function () {{
  const inner = this.contentDocument, root = inner.documentElement;
  const bottom = (name) => inner.querySelector(name).getBoundingClientRect().bottom;
  const size = (name) => parseFloat(getComputedStyle(inner.querySelector(name)).fontSize);
  const pictures = [...inner.querySelectorAll("figure img")];
  const found = {{
    width: root.scrollWidth,
    headline: bottom(".headline"),
    letters: Math.min(size("p"), size("td"), size("figcaption")),
    pictures: pictures.length,
    drawn: pictures.every((one) => one.complete && one.getBoundingClientRect().height > 100),
    widest: Math.max(...pictures.map((one) => one.getBoundingClientRect().width)),
    requests: performance.getEntriesByType("resource").length,
  }};
  const said = document.createElement("pre");
  said.id = "found";
  said.textContent = JSON.stringify(found);
  document.body.append(said);
}};
</script></body>"""


def browse(page: Path, *flags: str) -> str:
    """Return what the browser prints of a page."""
    assert CHROMIUM is not None
    usual = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    call = [CHROMIUM, *usual, f"--user-data-dir={page.parent / 'profile'}", *flags, page.as_uri()]
    done = subprocess.run(call, capture_output=True, text=True, timeout=PATIENCE, check=True)
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a saved study."""
    path = tmp_path_factory.mktemp("browser")
    dlsched.study(record(path / "sacct.txt", 60), ["backfill", "srsf"]).save(path)
    return path


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits(width: int, folder: Path) -> None:
    """Nothing is wider than the screen, the verdict is on the first one, and all is legible."""
    frame = folder / f"frame-{width}.html"
    frame.write_text(FRAME.format(width=width))
    dom = browse(frame, "--virtual-time-budget=20000", "--dump-dom")
    found = json.loads(dom.partition('<pre id="found">')[2].partition("</pre>")[0])
    assert found["width"] <= width
    assert 0 < found["headline"] <= 844
    assert found["letters"] >= 13
    assert found["pictures"] == 5 and found["drawn"]
    assert found["widest"] <= width
    assert found["requests"] == 0


def test_the_page_prints(folder: Path) -> None:
    """It becomes a PDF of a few pages."""
    target = folder / "study.pdf"
    browse(folder / "study.html", f"--print-to-pdf={target}")
    content = target.read_bytes()
    assert content.startswith(b"%PDF")
    assert 1 <= content.count(b"/Type /Page\n") + content.count(b"/Type /Page ") <= 8


def test_a_chart_of_10_000_jobs_opens(tmp_path: Path) -> None:
    """The interactive Gantt chart of 10,000 jobs is drawn, and drawn anew when it is zoomed."""
    rows = [
        {"id": f"j{i}", "submit": 20 * i, "gpus": 1 + i % 4, "work": 60 + 37 * i % 4000}
        for i in range(10_000)
    ]
    workload = Workload.parse({"name": "many", "jobs": rows}, "many")
    chart = tmp_path / "chart.html"
    write_timeline(simulate(workload, Cluster.uniform(40, 8), "fifo"), chart)
    zoom = """<script>
    window.addEventListener("load", async () => {
      const pause = (ms) => new Promise((done) => setTimeout(done, ms));
      while (!Bokeh.documents.length) await pause(50);
      await pause(500);
      const range = Bokeh.documents[0].roots()[0].x_range;
      for (let i = 0; i < 10; i++) {
        range.setv({start: 0, end: range.end / 1.5});
        await pause(20);
      }
      document.body.dataset.zoomed = "yes";
    });</script></body>"""
    chart.write_text(chart.read_text().replace("</body>", zoom))
    dom = browse(chart, "--virtual-time-budget=30000", "--dump-dom")
    assert 'data-zoomed="yes"' in dom
