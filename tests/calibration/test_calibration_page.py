"""The page of printed and obtained marginals is of today."""

import runpy
from pathlib import Path
from types import SimpleNamespace

# Not imported: benchmarks/ and docs/ have modules `page` as well.
writer = SimpleNamespace(**runpy.run_path(str(Path(__file__).parent / "page.py")))


def test_the_page_has_todays_names_and_bands() -> None:
    """`python tests/calibration/page.py` would change digits only."""
    text = writer.PAGE.read_text(encoding="utf-8")
    assert "not measured" not in text
    assert text == writer.page(text, slow=None), "run: python tests/calibration/page.py"


def test_what_takes_long_was_in_its_band() -> None:
    """It is measured when the page is written, and read there."""
    obtained = writer.kept(writer.PAGE.read_text(encoding="utf-8"))
    for name, (_, long) in writer.generators().items():
        for marginal in long:
            cells = writer.row(marginal, "", True)
            value = float(obtained[writer.title(name).split(",")[0], cells[0]].replace(",", ""))
            assert marginal.low <= value <= marginal.high, marginal.name
