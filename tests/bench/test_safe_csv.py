"""CSV files never hold a formula, and numbers stay numbers."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pandas as pd
import pytest

import dlsched
from calls import suite_text
from dlsched.bench import run_suite
from dlsched.bench.report import write_report
from dlsched.bench.safe_csv import csv_bytes

FORMULAS = ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\r\n=1", "=", "-", "--1"]
PLAIN = ["-1.5", "+3", "-1e-9", "a=b", "", "'=1", "x\n=1", "−1"]


def test_formulas_are_text() -> None:
    """What a spreadsheet would run has a ``'`` before it; other texts are as they were."""
    frame = pd.DataFrame({"=name": FORMULAS + PLAIN})
    rows = list(csv.reader(io.StringIO(csv_bytes(frame).decode(), newline="")))
    assert rows[0] == ["'=name"]
    expected = [f"'{text}".replace("\r\n", "\n").replace("\r", "\n") for text in FORMULAS] + PLAIN
    assert [row[0] if row else "" for row in rows[1:]] == expected


def test_numbers_stay_numbers() -> None:
    """Negative numbers, missing values and numbers as text are read back as they were."""
    frame = pd.DataFrame({"a": [-1.5, None, 2], "b": [-3, 4, 5], "c": ["-1.5", "2", "-7e3"]})
    back = pd.read_csv(io.BytesIO(csv_bytes(frame)))
    pd.testing.assert_frame_equal(back, frame.astype({"c": float}))


def test_files_of_a_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared_workers: None
) -> None:
    """Neither an instance's name nor an exception's text gets into a CSV file as a formula."""
    monkeypatch.chdir(tmp_path)
    made = dlsched.generate("reclaiming", servers=4).to_data()
    evil = '=HYPERLINK("http://nowhere")'
    Path("evil.json").write_text(json.dumps(made | {"name": evil}))
    Path("suite.toml").write_text(suite_text('files = "evil.json"', "lyra"))
    run_suite("suite.toml", "out")
    write_report("out")
    files = [Path("out/results.csv"), *Path("out/report").glob("*.csv")]
    assert len(files) == 4
    for file in files:
        rows = list(csv.reader(io.StringIO(file.read_text())))
        assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@"))]
        assert file.name not in ("results.csv", "runs.csv") or f"'{evil}" in rows[1]
