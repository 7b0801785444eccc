"""Pages in a browser: each kind, on a telephone and on a screen, without errors or overflow.

Chromium and its driver are Debian's packages ``chromium`` and ``chromium-driver``. Nothing is
downloaded: without both, or without selenium, the tests are skipped and say why.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from calls import FIG5, suite_text
from dlsched.sweeps import run_suite
from dlsched.sweeps.report import write_report

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
DRIVER = shutil.which("chromedriver")
FLAGS = "headless=new no-sandbox disable-gpu disable-dev-shm-usage disable-background-networking"
WIDTHS = (390, 1280)
"""Pixels of a telephone and of a small screen."""
HEIGHT = 900
SITE = [
    "index", "problems/dispatch", "models/utility", "api/elastic", "figures/hadar_simulation",
    "figures/peers", "which-method", "claims", "instances", "notebooks/solve-and-verify",
    "tutorials/pictures", "gallery", "api", "changelog",
]  # fmt: skip
"""A page of each kind."""
TOO_WIDE = """
const width = document.documentElement.clientWidth;
const look = element => getComputedStyle(element);
const scrolls = element => ["auto", "scroll", "hidden", "clip"].includes(look(element).overflowX);
const boxed = element => {
  for (let box = element.parentElement; box && box !== document.body; box = box.parentElement)
    if (scrolls(box) && box.getBoundingClientRect().right <= width + 1) return true;
  return look(element).position === "fixed" || look(element).visibility === "hidden";
};
const wide = [...document.body.querySelectorAll("*")].filter(element => {
  const place = element.getBoundingClientRect();
  return place.width && place.height && place.right > width + 1 && !boxed(element);
});
const named = wide.slice(0, 5).map(element => element.outerHTML.slice(0, 120));
const page = document.documentElement.scrollWidth;
return page > width ? [...named, `the page is ${page} px wide`] : named;
"""
"""What is wider than the window, outside a box that scrolls by itself."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Give a headless Chromium."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("there is no Chromium with its driver here: apt install chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS.split():
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield chrome
    chrome.quit()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of the built site."""
    pytest.importorskip("mkdocs", reason="the site's builder is an optional extra")
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=True)
    return folder


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of the report of a sweep of two problems."""
    folder = tmp_path_factory.mktemp("report")
    generated = 'generate = "elastic"; grid = { jobs = [4, 5, 6, 7, 8] }'
    (folder / "suite.toml").write_text(suite_text([FIG5, generated], "exact", "lyra"))
    run_suite(folder / "suite.toml", folder / "out")
    write_report(folder / "out")
    return folder / "out" / "report"


def flaws(browser: Any, page: Path, width: int) -> list[str]:
    """Return what a page says on the console, and what of it is too wide for a window."""
    size = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(page.as_uri())
    said = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    return said + list(browser.execute_script(TOO_WIDE))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page", SITE)
def test_page_of_the_site(browser: Any, site: Path, page: str, width: int) -> None:
    """No error on the console, and what is wider than the window scrolls in its own box."""
    assert flaws(browser, site / f"{page}.html", width) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_report(browser: Any, report: Path, width: int) -> None:
    """So it is of a report, also with everything that is folded open; its runs are folded."""
    assert flaws(browser, report / "index.html", width) == []
    folded = "return document.querySelector('#runs details').open"
    assert browser.execute_script(folded) is False
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.execute_script(TOO_WIDE) == []
